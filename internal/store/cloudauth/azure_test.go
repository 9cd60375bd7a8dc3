package cloudauth

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/lethe-iac/lethe/internal/store"
)

type refusing struct{ err error }

func (r refusing) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{}, r.err
}

// TestNoToken checks that Azure's reason for a missing token is one line, and that the request is repeated only if that
// may help.
func TestNoToken(t *testing.T) {
	answer := &http.Response{StatusCode: 401, Status: "401 Unauthorized", Body: io.NopCloser(strings.NewReader(`{"error": "invalid_client", "error_description": "AADSTS7000215: Invalid client secret provided.\r\nTrace ID: 1"}`))}
	for name, c := range map[string]struct {
		err   error
		want  string
		again bool
	}{
		"refused":     {&azidentity.AuthenticationFailedError{RawResponse: answer}, "Microsoft Entra ID refused a token: 401 Unauthorized: AADSTS7000215: Invalid client secret provided", false},
		"unavailable": {azidentity.NewCredentialUnavailableError("AzureCLICredential: executable\nnot found on path"), "no token of Microsoft Entra ID could be obtained: AzureCLICredential: executable not found on path", false},
		"no answer":   {&store.UnansweredError{Err: errors.New("reset")}, "reset", true},
	} {
		_, err := credential{refusing{c.err}}.GetToken(t.Context(), policy.TokenRequestOptions{})
		var unanswered *store.UnansweredError
		if err == nil || err.Error() != c.want || errors.As(err, &unanswered) != c.again || c.again && !unanswered.Unsent {
			t.Errorf("%s: %v", name, err)
		}
	}
}
