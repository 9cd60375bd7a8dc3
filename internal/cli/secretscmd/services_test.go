package secretscmd

import (
	"strings"
	"testing"
)

// TestGitLabVersionsHaveACommand checks for which addresses of the http backend the command that deletes earlier
// versions is printed.
func TestGitLabVersionsHaveACommand(t *testing.T) {
	const command = `curl --request DELETE --header "PRIVATE-TOKEN: $TOKEN" `
	for place, url := range map[string]string{
		"http:gitlab.example.com/api/v4/projects/42/terraform/state/prod":              "https://gitlab.example.com/api/v4/projects/42/terraform/state/prod/versions/N",
		"http:example.com/gitlab/api/v4/projects/a%2Fb/terraform/state/prod.eu":        "'https://example.com/gitlab/api/v4/projects/a%2Fb/terraform/state/prod.eu/versions/N'",
		"http:gitlab.example.com/api/v4/projects/42/terraform/state/a;b":               "'https://gitlab.example.com/api/v4/projects/42/terraform/state/a;b/versions/N'",
		"http:gitlab.example.com/api/v4/projects/42/terraform/state/prod?0123456789ab": "",
		"http:gitlab.example.com/api/v4/projects/42/terraform/state/prod/lock":         "",
		"http:gitlab.example.com/api/v4/projects/42/terraform/state/":                  "",
		"http:example.com/terraform/state/prod":                                        "",
		"http:example.com/states/prod":                                                 "",
	} {
		text := gitlabVersions(place)
		if url == "" && text != "" || url != "" && !strings.HasSuffix(text, command+url) {
			t.Errorf("%s: %s", place, text)
		}
	}
}
