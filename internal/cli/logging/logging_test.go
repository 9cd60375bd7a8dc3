package logging

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/base/basetest"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/secret"
)

func TestWithoutTheVariableNothingIsLogged(t *testing.T) {
	out := basetest.New(t, "").Do(func(_ context.Context, c *base.Call) {
		l := New(c)
		if l != nil || l.Has("ERROR") || l.HasProviders() {
			t.Errorf("%+v", l)
		}
		l.Begin(c)
		l.FromProvider(addr.Builtin("x"), "ERROR", "line")
		if s := event.Sink(event.Discard); l.Sink(s) != s {
			t.Error("events are logged")
		}
	})
	if out != "" {
		t.Error(out)
	}
}

func TestMoreSpecificVariablesHavePrecedenceForProvidersOnly(t *testing.T) {
	for _, c := range []struct {
		environ         []string
		core, providers bool
	}{
		{[]string{"TF_LOG=error"}, false, true},
		{[]string{"TF_LOG=info"}, true, true},
		{[]string{"TF_LOG_CORE=info"}, true, false},
		{[]string{"TF_LOG=error", "TF_LOG_CORE=trace"}, false, true},
		{[]string{"TF_LOG=trace", "TF_LOG_PROVIDER=off"}, true, false},
	} {
		d := basetest.New(t, "")
		d.Environ = c.environ
		d.Do(func(_ context.Context, call *base.Call) {
			if l := New(call); l.Has("INFO") != c.core || l.HasProviders() != c.providers {
				t.Errorf("%v: %t, %t", c.environ, l.Has("INFO"), l.HasProviders())
			}
		})
	}
}

func TestLogHasNoSecret(t *testing.T) {
	const canary = "canary-log-2f7a"
	d := basetest.New(t, "")
	d.Environ = []string{"TF_LOG=trace", "TF_LOG_PATH=log"}
	out := d.Do(func(_ context.Context, c *base.Call) {
		c.Secrets.Add(canary, secret.Origin{Addr: "test", Kind: secret.Setting})
		l := New(c)
		l.Begin(c)
		l.FromProvider(addr.Builtin("x"), "WARN", "the secret is "+canary)
		c.Log(errors.New("with " + canary).Error())
	})
	text := d.Read("log")
	if !strings.Contains(text, "the secret is") || !strings.Contains(text, "state: with") || strings.Contains(text+out, canary) {
		t.Errorf("%s\n%s", text, out)
	}
}

func TestUnknownLevelLogsEverything(t *testing.T) {
	d := basetest.New(t, "")
	d.Environ = []string{"TF_LOG=loud", "TF_LOG_PATH=log"}
	out := d.Do(func(_ context.Context, c *base.Call) {
		if l := New(c); !l.Has("TRACE") {
			t.Error("not everything is logged")
		}
	})
	if !strings.Contains(out, "Unknown log level") {
		t.Error(out)
	}
}
