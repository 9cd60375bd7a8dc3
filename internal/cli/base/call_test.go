package base

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/diag"
)

type testFlags struct {
	name string
	many List
	sure bool
}

// run executes a command with one required and one optional operand, which prints its flags and operands.
func run(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := &Command{
		Name: "try", Args: "WORD [WORD]", Long: "Tries things.", Result: true,
		Setup: Flags(func(c *Call, f *testFlags) {
			c.Flags.StringVar(&f.name, "name", "none", "A `name`.")
			c.Flags.Var(&f.many, "many", "One of `many`.")
			c.Flags.BoolVar(&f.sure, "sure", false, "Be sure.")
		}, func(_ context.Context, c *Call, f *testFlags) int {
			c.UI.Print(f.name + " " + f.many.String() + " " + strings.Join(c.Operands, " "))
			if f.sure {
				return c.UI.Done(ExitChanges)
			}
			return c.UI.Done(ExitOK)
		}),
	}
	env := Env{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr}
	code = env.Run(cmd, args)
	return code, stdout.String(), stderr.String()
}

// TestRun checks that flags have one or two dashes and may be anywhere, and that arguments after "--" are operands. It
// also checks the errors for wrong flags and operands, and the text of -help.
func TestRun(t *testing.T) {
	for _, tt := range []struct {
		args string
		code int
		out  string
	}{
		{"a", ExitOK, "none  a"},
		{"a -name=x b --many 1 -many=2", ExitOK, "x 1,2 a b"},
		{"-sure -name x -- -a", ExitChanges, "x  -a"},
	} {
		if code, out, errs := run(t, strings.Fields(tt.args)...); code != tt.code || out != tt.out || errs != "" {
			t.Errorf("%s: %d, %q, %q", tt.args, code, out, errs)
		}
	}
	for args, want := range map[string]string{
		"": "Usage: lethe try [options] WORD [WORD]", "a b c": "Too many command line arguments", "a -nam x": `There is no option -nam here. Did you mean -name?`,
		"a -chdir=x": "before the command", "a -name": "needs a value, as in -name=NAME", "a -sure=x": `takes true or false, not "x"`,
	} {
		if code, out, errs := run(t, strings.Fields(args)...); code != ExitError || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%s: %d, %q, %q", args, code, out, errs)
		}
	}
	code, help, _ := run(t, "-help")
	for _, want := range []string{"Usage: lethe [global options] try [options] WORD [WORD]\n\n  Tries things.\n", "-many=many", "A name. The default is none.", "-no-color", "-sure"} {
		if code != ExitOK || !strings.Contains(help, want) {
			t.Errorf("help has no %q: %d\n%s", want, code, help)
		}
	}
}

// TestAtEnd checks that errors at the end of a command are reported, although the command has reported already.
func TestAtEnd(t *testing.T) {
	var stdout, stderr bytes.Buffer
	env := Env{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr}
	code := env.Run(&Command{Name: "try", Setup: NoFlags(func(_ context.Context, c *Call) int {
		c.AtEnd(func() { c.Bag.Add(diag.Errorf("Second", "x")) })
		c.AtEnd(func() { c.UI.Print("first\n") })
		return c.UI.Done(ExitOK)
	})}, nil)
	if code != ExitError || stdout.String() != "first\n" || strings.Count(stderr.String(), "Error: Second") != 1 {
		t.Errorf("%d, %q, %q", code, stdout.String(), stderr.String())
	}
}
