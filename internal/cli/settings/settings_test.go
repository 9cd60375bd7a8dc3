package settings

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/base/basetest"
)

func TestFirstSettingThatCannotBeUsedIsReported(t *testing.T) {
	for _, c := range []struct{ environ, title string }{
		{"LETHE_LIMITS=nonsense=1", "Invalid LETHE_LIMITS"},
		{"TF_STATE_PERSIST_INTERVAL=soon", "Invalid TF_STATE_PERSIST_INTERVAL"},
		{"LETHE_KEEPER=perhaps", "Invalid LETHE_KEEPER"},
		{"LETHE_FORGET_DATA=some", "Invalid LETHE_FORGET_DATA"},
		{"TF_TEMPLATE_RECURSION_DEPTH=0", "Invalid TF_TEMPLATE_RECURSION_DEPTH"},
	} {
		d := basetest.New(t, "")
		d.Environ = []string{c.environ}
		out := d.Do(func(_ context.Context, call *base.Call) {
			if _, ok := Read(call); ok {
				t.Errorf("%s is accepted", c.environ)
			}
		})
		if !strings.Contains(out, c.title) {
			t.Errorf("%s: %s", c.environ, out)
		}
	}
}

func TestIntervalOfInterimStatesIsInSeconds(t *testing.T) {
	d := basetest.New(t, "")
	d.Environ = []string{"TF_STATE_PERSIST_INTERVAL=7"}
	d.Do(func(_ context.Context, c *base.Call) {
		if s, ok := Read(c); !ok || s.Interim != 7*time.Second {
			t.Errorf("%t: %+v", ok, s)
		}
	})
}

func TestAllWrongSettingsOfTheNetworkAreReported(t *testing.T) {
	d := basetest.New(t, "")
	d.Environ = []string{"TF_REGISTRY_CLIENT_TIMEOUT=-1", "TF_REGISTRY_DISCOVERY_RETRY=often", "HTTPS_PROXY=canary-7c1d nonsense"}
	out := d.Do(func(_ context.Context, c *base.Call) {
		s, ok := Read(c)
		if !ok {
			t.Fatal("no settings")
		}
		if _, ok := s.ReadNetwork(c); ok {
			t.Error("accepted")
		}
	})
	for _, name := range []string{"TF_REGISTRY_CLIENT_TIMEOUT", "TF_REGISTRY_DISCOVERY_RETRY", "HTTPS_PROXY"} {
		if !strings.Contains(out, name) {
			t.Errorf("no %s: %s", name, out)
		}
	}
	if strings.Contains(out, "canary") {
		t.Error("the address of the proxy is shown: it may have a password")
	}
}

func TestCredentialsOfTheEnvironmentAreMasked(t *testing.T) {
	const canary = "canary-credential-51ab"
	d := basetest.New(t, "")
	d.Environ = []string{"TF_TOKEN_registry_example_com=" + canary}
	out := d.Do(func(ctx context.Context, c *base.Call) {
		_, credentials, ok := Hosts(c)
		if !ok {
			t.Fatal("no hosts")
		}
		token, err := credentials.Token(ctx, "registry.example.com")
		if err != nil || token != canary {
			t.Errorf("%q, %v", token, err)
		}
		c.UI.Line("the token is " + c.Secrets.Scrub(token))
	})
	if strings.Contains(out, canary) || !strings.Contains(out, "the token is") {
		t.Error(out)
	}
}

// TestVariablesAreDocumented checks that docs/reference/settings.md lists each environment variable that the program
// knows.
func TestVariablesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Clone(honoured)
	for _, v := range unhonoured {
		names = append(names, v.name)
	}
	for _, name := range names {
		if begin, _ := strings.CutSuffix(name, "*"); !strings.Contains(string(page), "`"+begin) {
			t.Errorf("docs/reference/settings.md does not have the environment variable %s", name)
		}
	}
}
