package workdir

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/cli/base"
)

// call returns the Call of a command that has parsed the flags in args, and the Options that the flags set.
func call(t *testing.T, environ []string, args ...string) (*base.Call, *Options) {
	t.Helper()
	o := &Options{}
	env := &base.Env{Dir: t.TempDir(), Environ: environ, Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}
	c, _ := env.New(&base.Command{Name: "try", Setup: func(c *base.Call) base.Run { o.OperationFlags(c); return nil }})
	if err := c.Flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	c.Operands = c.Flags.Args()
	return c, o
}

func TestOptions(t *testing.T) {
	_, o := call(t, nil)
	if !o.Input || !o.Lock || o.Parallelism != 10 || o.Deprecation != Deprecations[0] {
		t.Errorf("defaults: %+v", o)
	}
	for _, text := range []string{"0", "false"} {
		if _, o := call(t, []string{"TF_INPUT=" + text}); o.Input {
			t.Errorf("TF_INPUT=%s asks", text)
		}
	}
	_, o = call(t, []string{"TF_INPUT=0"}, "-input", "-var", "a=1", "-var-file=f", "-var=b=2", "-lock=false", "-deprecation=module:local")
	if !o.Input || o.Lock || o.Deprecation != Deprecations[1] || len(o.Vars) != 3 || o.Vars[1] != (Assignment{true, "f"}) || o.Vars[2].Text != "b=2" {
		t.Errorf("%+v", o)
	}
}

// TestNoOperands checks that operands are refused. The error about an operand after -var NAME does not show the
// operand, because it may be a secret value.
func TestNoOperands(t *testing.T) {
	c, _ := call(t, nil)
	if !c.NoOperands() {
		t.Error("none is refused")
	}
	for title, args := range map[string][]string{"Too many command line arguments": {"x"}, "Invalid -var option": {"-var", "a", "canary-51c7"}} {
		c, _ := call(t, nil, args...)
		if c.NoOperands() || c.Bag.List()[0].Summary != title || strings.Contains(c.Bag.List()[0].Detail, "canary") {
			t.Errorf("%v: %v", args, c.Bag.List())
		}
	}
}

func TestAddresses(t *testing.T) {
	c, _ := call(t, nil)
	if err := os.WriteFile(filepath.Join(c.Dir, "f"), []byte("# two\na.x\n\n  module.m  \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	list, ok := Addresses(c, "target", []string{"a.b[0]"}, []string{"f"})
	if !ok || len(list) != 3 || list[2].String() != "module.m" {
		t.Errorf("%v, %t: %v", list, ok, c.Bag.List())
	}
	if _, ok := Addresses(c, "target", []string{"a..b"}, []string{"missing"}); ok || c.Bag.Len() != 2 {
		t.Errorf("%v", c.Bag.List())
	}
}
