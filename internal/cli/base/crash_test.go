package base

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/zclconf/go-cty/cty"
)

// The report of a panic contains no secrets of the run, whatever the type of the panic value is.
func TestCrashReport(t *testing.T) {
	const canary = "canary-51c7-0123456789"
	for _, value := range []any{"a value: " + canary, errors.New(canary), struct{ Token string }{canary}, cty.StringVal(canary)} {
		var out, errs bytes.Buffer
		env := Env{Stdout: &out, Stderr: &errs}
		cmd := &Command{Name: "panic", Setup: NoFlags(func(_ context.Context, c *Call) int {
			c.Secrets.Add(canary, secret.Origin{Addr: "var.s", Kind: secret.EphemeralVariable})
			panic(value)
		})}
		code := env.Run(cmd, nil)
		if code != ExitError || out.Len() > 0 || !strings.Contains(errs.String(), "This is a bug in Lethe") || !strings.Contains(errs.String(), "crash_test.go") {
			t.Errorf("%T: exit code %d and\n%s%s", value, code, out.String(), errs.String())
		}
		if strings.Contains(errs.String(), "canary-51c7") {
			t.Errorf("%T: the secret is in the report:\n%s", value, errs.String())
		}
	}
}
