package loader

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/base/basetest"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/diag"
)

// with calls the function do with the Loader of a directory, and returns all output.
func with(d *basetest.Dir, do func(*base.Call, *Loader)) string {
	d.Helper()
	return d.Do(func(_ context.Context, c *base.Call) {
		dir, ok := workdir.Open(c, &workdir.Options{Tests: "tests"})
		if !ok {
			d.Fatal("not opened")
		}
		do(c, New(dir))
	})
}

// module creates a directory for a module, and writes the text into its file main.tf.
func module(d *basetest.Dir, name, text string) {
	d.Helper()
	if err := os.Mkdir(filepath.Join(d.Path, name), 0o755); err != nil {
		d.Fatal(err)
	}
	d.Write(filepath.Join(name, "main.tf"), text)
}

// needs returns the types of the providers that l.Needs returns, in order.
func needs(l *Loader) string {
	var out []string
	for _, n := range l.Needs() {
		out = append(out, n.Provider.Type)
	}
	return strings.Join(out, " ")
}

func TestRootModuleIsReadWithoutItsModules(t *testing.T) {
	d := basetest.New(t, "module \"m\" {\n  source = \"./missing\"\n}\n")
	out := with(d, func(_ *base.Call, l *Loader) {
		if root := l.Root(); root == nil || root.Calls["m"] == nil || l.Unsure() != nil {
			t.Errorf("%v, %v", root, l.Unsure())
		}
	})
	if out != "" {
		t.Error(out)
	}
}

func TestBrokenRootModuleDoesNotSayWhereTheStatesAre(t *testing.T) {
	for text, unsure := range map[string]bool{
		"terraform {": true,
		"terraform {\n  backend \"local\" {}\n}\n": false,
		"": false,
	} {
		with(basetest.New(t, text), func(_ *base.Call, l *Loader) {
			if (l.Unsure() != nil) != unsure {
				t.Errorf("%q: %v", text, l.Unsure())
			}
		})
	}
}

func TestSourceOfAModuleMayNameAVariable(t *testing.T) {
	d := basetest.New(t, "variable \"dir\" {\n  type    = string\n  default = \"one\"\n  const   = true\n}\nmodule \"m\" {\n  source = \"./${var.dir}\"\n}\n")
	module(d, "one", "")
	module(d, "two", "resource \"test_thing\" \"a\" {}\n")
	d.Environ = []string{"TF_VAR_dir=two"}
	out := with(d, func(_ *base.Call, l *Loader) {
		if !l.Load() || l.Tree.Root.Children["m"].Module.Resources == nil || needs(l) != "test" {
			t.Errorf("%q", needs(l))
		}
	})
	if out != "" {
		t.Error(out)
	}
}

func TestModulesThatAreNotInstalledAreReported(t *testing.T) {
	const canary = "canary-password-6be2"
	d := basetest.New(t, "module \"m\" {\n  source = \"git::https://user:"+canary+"@example.com/m.git\"\n}\n")
	out := with(d, func(_ *base.Call, l *Loader) {
		if l.Load() {
			t.Error("loaded")
		}
	})
	if !strings.Contains(out, "Module not installed") || strings.Contains(out, canary) {
		t.Error(out)
	}
}

func TestRequiredProvidersIncludeThoseOfTestsAfterLoadTests(t *testing.T) {
	d := basetest.New(t, "resource \"a_thing\" \"x\" {}\n")
	module(d, "helper", "resource \"b_thing\" \"x\" {}\n")
	d.Write("x.tftest.hcl", "run \"r\" {\n  module {\n    source = \"./helper\"\n  }\n}\n")
	out := with(d, func(_ *base.Call, l *Loader) {
		if !l.Load() || needs(l) != "a" {
			t.Errorf("before: %q", needs(l))
		}
		if !l.LoadAllTests() || needs(l) != "a b" {
			t.Errorf("after: %q", needs(l))
		}
		if len(l.Tree.Root.Children) != 0 {
			t.Error("the modules of tests are in the tree of the configuration")
		}
	})
	if out != "" {
		t.Error(out)
	}
}

func TestMistakeInATestFileDoesNotPreventLoading(t *testing.T) {
	d := basetest.New(t, "")
	d.Write("x.tftest.hcl", "nonsense\n")
	with(d, func(c *base.Call, l *Loader) {
		if !l.Load() || !l.LoadAllTests() {
			t.Error("not loaded")
		}
		if c.Bag.HasErrors() || c.Bag.Len() == 0 {
			t.Errorf("%v", c.Bag.List())
		}
		var bag diag.Bag
		if l.ReadTests(&bag); !bag.HasErrors() {
			t.Error("a command about tests gets no error")
		}
	})
}
