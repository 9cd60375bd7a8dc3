package variables

import (
	"context"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/base/basetest"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/zclconf/go-cty/cty"
)

// with reads the root module in the directory d, calls the function do with the Values of this module, and returns all
// output.
func with(d *basetest.Dir, o *workdir.Options, do func(*base.Call, *Values)) string {
	d.Helper()
	return d.Do(func(_ context.Context, c *base.Call) {
		dir, ok := workdir.Open(c, o)
		if !ok {
			d.Fatal("not opened")
		}
		v := New(dir)
		root, _ := config.Load(dir.Root, dir.LoadOptions(), c.Sources, &c.Bag)
		v.Declare(root)
		do(c, v)
	})
}

const declared = "variable \"a\" {\n  type = string\n}\n"

func flag(text string) []workdir.Assignment { return []workdir.Assignment{{Text: text}} }

func TestLaterSourceOfAValueCounts(t *testing.T) {
	d := basetest.New(t, declared)
	steps := []struct{ from, file, text string }{
		{"TF_VAR_a", "", ""},
		{"terraform.tfvars", "terraform.tfvars", `a = "1"`},
		{"terraform.tfvars.json", "terraform.tfvars.json", `{"a": "2"}`},
		{"a.auto.tfvars", "a.auto.tfvars", `a = "3"`},
		{"b.auto.tfvars.json", "b.auto.tfvars.json", `{"a": "4"}`},
	}
	d.Environ = []string{"TF_VAR_a=0"}
	for _, s := range steps {
		if s.file != "" {
			d.Write(s.file, s.text)
		}
		with(d, &workdir.Options{}, func(_ *base.Call, v *Values) {
			if !v.Collect() || v.Given["a"].From != s.from {
				t.Errorf("%s: %+v", s.from, v.Given)
			}
		})
	}
	with(d, &workdir.Options{Vars: flag("a=5")}, func(_ *base.Call, v *Values) {
		if !v.Collect() || v.Given["a"].From != "-var" || v.Given["a"].Text != "5" {
			t.Errorf("%+v", v.Given)
		}
	})
}

func TestUndeclaredVariableIsAnErrorOnTheCommandLineOnly(t *testing.T) {
	d := basetest.New(t, declared)
	out := with(d, &workdir.Options{Vars: flag("b=1")}, func(_ *base.Call, v *Values) {
		if v.Collect() {
			t.Error("-var is accepted")
		}
	})
	if !strings.Contains(out, "Error: Value for undeclared variable") {
		t.Error(out)
	}
	d.Write("terraform.tfvars", "b = 1\n")
	out = with(d, &workdir.Options{}, func(_ *base.Call, v *Values) {
		if !v.Collect() {
			t.Error("a file is refused")
		}
	})
	if !strings.Contains(out, "Warning: Value for undeclared variable") {
		t.Error(out)
	}
}

func TestTestFilesMayExpectUndeclaredVariables(t *testing.T) {
	d := basetest.New(t, declared)
	out := with(d, &workdir.Options{Vars: flag("b=1")}, func(_ *base.Call, v *Values) {
		v.ExpectTests()
		if !v.Collect() {
			t.Error("refused before the test files were read")
		}
	})
	if out != "" {
		t.Error(out)
	}
	with(d, &workdir.Options{Vars: flag("b=1")}, func(_ *base.Call, v *Values) {
		v.ExpectTests()
		if v.CollectForTests(nil, nil) {
			t.Error("accepted although no test file expects it")
		}
	})
}

func TestSensitiveValuesOfFilesAreNotQuoted(t *testing.T) {
	const canary = "canary-value-94e1"
	d := basetest.New(t, "variable \"a\" {\n  sensitive = true\n}\n")
	d.Write("terraform.tfvars", "a = \""+canary+"\"\n")
	with(d, &workdir.Options{}, func(c *base.Call, v *Values) {
		if !v.Collect() || v.Given["a"].Value.AsString() != canary {
			t.Errorf("%+v", v.Given)
		}
		if text := string(c.Sources.Get("terraform.tfvars")); text == "" || strings.Contains(text, canary) {
			t.Errorf("messages may quote %q", text)
		}
	})
	d.Write("terraform.tfvars", "a = \""+canary+"\n")
	out := with(d, &workdir.Options{}, func(_ *base.Call, v *Values) {
		if v.Collect() {
			t.Error("accepted")
		}
	})
	if strings.Contains(out, canary) {
		t.Error(out)
	}
}

func TestSavedPlanKeepsItsValues(t *testing.T) {
	saved := map[string]plan.Variable{"a": {Value: cty.StringVal("planned")}}
	for _, c := range []struct {
		given, flag, title string
		ok                 bool
	}{
		{"", "", "", true},
		{"planned", "", "", true},
		{"other", "", "Ignoring variable when applying a saved plan", true},
		{"", "a=planned", "", true},
		{"", "a=other", "Can't change variable when applying a saved plan", false},
	} {
		d := basetest.New(t, declared)
		o := &workdir.Options{}
		if c.flag != "" {
			o.Vars = flag(c.flag)
		}
		if c.given != "" {
			d.Environ = []string{"TF_VAR_a=" + c.given}
		}
		out := with(d, o, func(_ *base.Call, v *Values) {
			if ok := v.CollectSaved(saved); ok != c.ok || v.Given["a"].Value != cty.StringVal("planned") {
				t.Errorf("%+v: %t, %+v", c, ok, v.Given)
			}
		})
		if c.title == "" && out != "" || !strings.Contains(out, c.title) {
			t.Errorf("%+v: %s", c, out)
		}
	}
}

func TestValueThatASavedPlanLacksIsNotUsed(t *testing.T) {
	d := basetest.New(t, declared)
	d.Environ = []string{"TF_VAR_a=late"}
	out := with(d, &workdir.Options{}, func(_ *base.Call, v *Values) {
		if !v.CollectSaved(nil) {
			t.Error("refused")
		}
		if g, given := v.Given["a"]; given {
			t.Errorf("%+v", g)
		}
	})
	if !strings.Contains(out, "Ignoring variable when applying a saved plan") || strings.Contains(out, "late") {
		t.Error(out)
	}
}

func TestEphemeralValuesAreGivenAgainForASavedPlan(t *testing.T) {
	d := basetest.New(t, "variable \"a\" {\n  type      = string\n  ephemeral = true\n}\n")
	d.Environ = []string{"TF_VAR_a=now"}
	with(d, &workdir.Options{}, func(_ *base.Call, v *Values) {
		if !v.CollectSaved(nil) || v.Given["a"].Text != "now" {
			t.Errorf("%+v", v.Given)
		}
		if names := v.GivenEphemeral(); len(names) != 1 || names[0] != "a" {
			t.Errorf("%v", names)
		}
	})
}

func TestOperationDecidesTerraformApplying(t *testing.T) {
	with(basetest.New(t, ""), &workdir.Options{}, func(_ *base.Call, v *Values) {
		for of := operation.None; of <= operation.Test; of++ {
			if want := of == operation.Apply || of == operation.Test; v.FrameOptions(of).Applying != want {
				t.Errorf("%+v: applying is %t", of.Policy(), !want)
			}
		}
		if v.StaticOptions().Applying {
			t.Error("applying before there is a program")
		}
	})
}
