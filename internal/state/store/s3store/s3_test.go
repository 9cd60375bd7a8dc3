package s3store

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/zclconf/go-cty/cty"
)

// TestNoCredentials: where no role is to be had, no request was made. It is only asked for again where that may help.
func TestNoCredentials(t *testing.T) {
	for status, again := range map[int]bool{http.StatusForbidden: false, http.StatusServiceUnavailable: true} {
		sts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			fmt.Fprint(w, "<ErrorResponse><Error><Code>Trouble</Code><Message>not now</Message></Error></ErrorResponse>")
		}))
		t.Cleanup(sts.Close)
		config, err := Driver.Schema.Coerce(cty.ObjectVal(map[string]cty.Value{
			"bucket": cty.StringVal("states"), "key": cty.StringVal("k"), "region": cty.StringVal("r"), "access_key": cty.StringVal("user"), "secret_key": cty.StringVal("canary-4711"), "use_lockfile": cty.True,
			"assume_role": cty.ObjectVal(map[string]cty.Value{"role_arn": cty.StringVal("arn:aws:iam::123456789012:role/states")}),
			"endpoints":   cty.ObjectVal(map[string]cty.Value{"s3": cty.StringVal("http://s3.invalid"), "sts": cty.StringVal(sts.URL)}),
		}))
		if err != nil {
			t.Fatal(err)
		}
		st, err := Driver.Open(t.Context(), store.Settings{Config: config, Schema: Driver.Schema, Getenv: func(string) string { return "" }})
		if err != nil {
			t.Fatal(err)
		}
		_, err = st.(store.Wrapper).Unwrap().Lock(t.Context(), "w", store.NewLockInfo("o", "1"))
		var lost *store.UnansweredError
		if is := errors.As(err, &lost); is != again || is && !lost.Unsent {
			t.Errorf("%d: %v", status, err)
		}
	}
}
