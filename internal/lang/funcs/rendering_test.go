package funcs

import (
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// callOf returns a call with these arguments, in the directory dir.
func callOf(dir string, args ...cty.Value) *call {
	return &call{scope: &scope{env: &Env{BaseDir: dir}, limits: limits.Limits{}.Filled()}, given: args, args: args}
}

// TestMistakesInASecretTemplateAreNotShown checks that a message about a secret template does not quote it.
func TestMistakesInASecretTemplateAreNotShown(t *testing.T) {
	diags := hcl.Diagnostics{{Severity: hcl.DiagError, Summary: "Bad", Detail: "canary"}, {Severity: hcl.DiagError, Summary: "Bad", Detail: "canary"}}
	for secret, want := range map[string]string{"": "Bad; canary", "sensitive": "the mistake is not shown, because the template is sensitive"} {
		x := &rendering{c: callOf(""), secret: secret}
		if got := x.failure(diags).Error(); got != want {
			t.Errorf("%q: %s", secret, got)
		}
	}
}

// TestVariablesOfATemplateAreNames checks that the keys of a template's variables must be valid names.
func TestVariablesOfATemplateAreNames(t *testing.T) {
	for _, c := range []struct {
		vars cty.Value
		want string
	}{
		{cty.ObjectVal(map[string]cty.Value{"a": cty.True}), ""},
		{cty.MapVal(map[string]cty.Value{"a-b": cty.True}), ""},
		{cty.ObjectVal(map[string]cty.Value{"a b": cty.True}), "invalid template variable name"},
		{cty.ListVal([]cty.Value{cty.True}), "must be a map"},
	} {
		vars, err := (&rendering{c: callOf("", cty.StringVal("t"), c.vars)}).vars()
		if c.want == "" && (err != nil || len(vars) != 1) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%#v: %v %v", c.vars, vars, err)
		}
	}
}

// TestAFileIsNamedAsItIsWritten checks that an error about a file names the path in the configuration, not the path on
// the machine.
func TestAFileIsNamedAsItIsWritten(t *testing.T) {
	dir := t.TempDir()
	a := fileArgument{callOf(dir, cty.StringVal("x.txt"))}
	err := a.relative(&fs.PathError{Op: "read", Path: dir + "/x.txt", Err: syscall.EACCES})
	if got := err.Error(); strings.Contains(got, dir) || !strings.Contains(got, "x.txt") {
		t.Error(got)
	}
	if _, err := a.read(); err == nil || strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), `no file exists at "x.txt"`) {
		t.Error(err)
	}
}

// TestASecretPathIsNotShown checks that an error about a file does not quote a secret path.
func TestASecretPathIsNotShown(t *testing.T) {
	path := mark.With(cty.StringVal("canary.txt"), mark.Sensitive, nil)
	c := callOf(t.TempDir(), path)
	c.args = []cty.Value{cty.StringVal("canary.txt")}
	if _, err := (fileArgument{c}).text(); err == nil || strings.Contains(err.Error(), "canary") {
		t.Error(err)
	}
}
