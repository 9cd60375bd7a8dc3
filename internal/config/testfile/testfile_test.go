package testfile

import (
	"reflect"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/zclconf/go-cty/cty"
)

func read(t *testing.T, files config.Memory) ([]*File, *diag.Bag) {
	t.Helper()
	var bag diag.Bag
	list, _ := Read([]string{".", "tests"}, config.Options{Files: files}, &diag.Sources{}, &bag)
	return list, &bag
}

// TestDiscovery checks that files are sorted by name, that files of the root module come first, and that a tofutest
// file hides the tftest file.
func TestDiscovery(t *testing.T) {
	list, bag := read(t, config.Memory{
		"b.tftest.hcl": nil, "a.tftest.hcl": nil, "a.tofutest.hcl": nil, "c.tftest.json": []byte("{}"), ".hidden.tftest.hcl": nil, "main.tf": nil, "tests/a.tftest.hcl": nil, "tests/x.hcl": nil,
	})
	var names []string
	for _, f := range list {
		names = append(names, f.Name)
	}
	if got := strings.Join(names, " "); got != "a.tofutest.hcl b.tftest.hcl c.tftest.json tests/a.tftest.hcl" || bag.Len() > 0 {
		t.Errorf("%s, %v", got, bag.List())
	}
}

const wholeFile = `
variables {
  a = "text"
  b = var.a
}
provider "x" {
  alias = "late"
  key   = run.setup.key
}
mock_provider "y" {
  override_during = plan
  mock_ephemeral "y_lease" {
    defaults = { token = "t" }
  }
}
run "setup" {
  module {
    source = "./helper"
  }
}
run "main" {
  command         = plan
  state_key       = "k"
  expect_failures = [var.a, x_thing.t["k"]]
  expect_no_leak  = [run.setup.key]
  providers       = { x = x.late }
  plan_options {
    mode    = normal
    refresh = false
    target  = [module.m, x_thing.t]
    replace = [x_thing.t[0]]
  }
  override_module {
    target  = module.m
    outputs = { o = 1 }
  }
  assert {
    condition     = run.setup.key == var.a
    error_message = "no"
  }
}
`

func TestRead(t *testing.T) {
	list, bag := read(t, config.Memory{"main.tftest.hcl": []byte(wholeFile)})
	if bag.Len() > 0 || len(list) != 1 {
		t.Fatal(bag.List())
	}
	f := list[0]
	setup, main := f.Runs[0], f.Runs[1]
	if f.Variables["a"].Plain.AsString() != "text" || f.Variables["b"].Plain != cty.NilVal {
		t.Error("values that are written out are not told from others")
	}
	if key := Key(f, setup); setup.Plan || setup.Module == nil || key != "test.main.setup" {
		t.Errorf("setup: %+v, %s", setup, key)
	}
	later := f.Providers[config.ProviderName{Local: "x", Alias: "late"}]
	if _, ok := ProviderRefs(later)[Ref{"var", RunVariable("setup")}]; !ok {
		t.Errorf("a reference to a run was not lifted: %v", ProviderRefs(later))
	}
	if m := f.Mocks[config.ProviderName{Local: "y"}]; m.During != DuringPlan || len(m.Defaults) != 1 || m.Defaults[0].Mode.String() != "ephemeral" {
		t.Errorf("mock: %+v", m)
	}
	if !main.Plan || main.RefreshOnly || !main.NoRefresh || main.StateKey != "k" || len(main.Targets) != 2 || len(main.Replace) != 1 || len(main.NoLeak) != 1 || len(main.Providers) != 1 || len(main.Overrides) != 1 {
		t.Errorf("main: %+v", main)
	}
	if e := main.Expected; len(e) != 2 || e[0].Text != "var.a" || e[1].Text != `x_thing.t["k"]` {
		t.Errorf("expected: %v", e)
	}
	if refs := main.AssertRefs(); len(refs) != 2 {
		t.Errorf("references: %v", refs)
	}
}

// TestMistakes checks that each mistake has one message with a range.
func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		`run "a" {`:                                              "Unclosed configuration block",
		"run \"a\" {\n  command = destroy\n}":                    `Invalid "command" keyword`,
		"run \"a\" {\n}\nrun \"a\" {\n}":                         `Duplicate "run" block names`,
		"run \"a b\" {\n}":                                       "Invalid run block name",
		"run \"a\" {\n  nothing = 1\n}":                          "Unsupported argument",
		"foo {\n}":                                               "Unsupported block type",
		"run \"a\" {\n  expect_failures = [local.x]\n}":          "Invalid `expect_failures` reference",
		"run \"a\" {\n  expect_failures = var.x\n}":              "Invalid expression",
		"run \"a\" {\n  assert {\n    condition = var.x\n  }\n}": "Missing required argument",
		"run \"a\" {\n  assert {\n    condition = true\n    error_message = \"no\"\n  }\n}":   "Invalid assert expression",
		"run \"a\" {\n  plan_options {\n    mode = destroy\n  }\n}":                           `Invalid "mode" keyword`,
		"run \"a\" {\n  plan_options {\n    mode = refresh-only\n    refresh = false\n  }\n}": "Incompatible refresh options",
		"run \"a\" {\n  plan_options {\n    mode = refresh-only\n    replace = [a.b]\n  }\n}": "Unsupported plan mode",
		"run \"a\" {\n  plan_options {\n  }\n  plan_options {\n  }\n}":                        `Multiple "plan_options" blocks`,
		"run \"a\" {\n  module {\n  }\n}":                                                     "Missing required argument",
		"run \"a\" {\n  skip_cleanup = false\n  backend \"local\" {\n  }\n}":                  "Invalid skip_cleanup value",
		"run \"a\" {\n}\nrun \"b\" {\n  backend \"local\" {\n  }\n}":                          "Invalid backend block",
		"mock_provider \"a\" {\n  for_each = toset([])\n}":                                    `Alias required when using "for_each"`,
		"variables {\n  a = 1\n}\nvariables {\n  b = 2\n}":                                    `Multiple "variables" blocks`,
		"test {\n}\ntest {\n}": `Multiple "test" blocks`,
		"run \"a\" {\n  variables {\n    x = run.b.x\n  }\n}\nrun \"b\" {\n}":                                  "Reference to unavailable run block",
		"run \"a\" {\n}\nrun \"b\" {\n  assert {\n    condition = run.c.x\n    error_message = \"no\"\n  }\n}": "Reference to unknown run block",
		"provider \"x\" {\n}\nmock_provider \"x\" {\n}":                                                        "Duplicate provider block",
		"mock_provider \"x\" {\n}\nmock_provider \"x\" {\n}":                                                   "Duplicate mock_provider block",
		"mock_provider \"x\" {\n  source = \"./none\"\n}":                                                      "Failed to read mock files",
		"override_module {\n  target = module.m\n}\noverride_module {\n  target = module.m\n}":                 "Duplicate override_module block",
		"run \"a\" {\n  providers = {\n    x = x.y\n  }\n}":                                                    "Missing provider definition for x.y",
		"override_resource {\n}":                                                   "Missing required argument",
		"override_resource {\n  target = data.x.y\n}":                              "Invalid override target",
		"override_module {\n  target = module.m\n  values = {}\n}":                 "Unsupported argument",
		"override_data {\n  target = data.x.y\n  values = 1\n}":                    "Invalid values attribute",
		"override_data {\n  target = data.x.y\n  override_during = never\n}":       "Invalid override_during value",
		"run \"a\" {\n}\nrun \"b\" {\n  variables {\n    x = run[\"a\"].x\n  }\n}": "Invalid reference",
		"urn \"a\" {\n}\nrun \"b\" {\n  variables {\n    x = run.a.x\n  }\n}":      "Unsupported block type",
		"porvider \"x\" {\n}\nrun \"b\" {\n  providers = { x = x }\n}":             "Unsupported block type",
		"test {\n  parallel = \"maybe\"\n}":                                        "Unsuitable value type",
	} {
		_, bag := read(t, config.Memory{"a.tftest.hcl": []byte(text + "\n")})
		list := bag.List()
		if len(list) != 1 || list[0].Summary != want || list[0].Subject == nil {
			t.Errorf("%s\n%v, want %s", text, list, want)
		}
	}
}

// TestWaits checks that runs wait for runs whose outputs or state they use, and for runs that may not run at the same
// time as others.
func TestWaits(t *testing.T) {
	list, bag := read(t, config.Memory{"a.tftest.hcl": []byte(`
test {
  parallel = true
}
provider "x" {
  key = run.setup.key
}
run "setup" {
  module {
    source = "./helper"
  }
}
run "one" {}
run "two" {
  state_key = "k"
  override_module {
    target  = module.m
    outputs = { a = run.one.a }
  }
}
run "same" {
  state_key = "k"
}
run "free" {
  state_key = "f"
}
run "helper" {
  module {
    source = "./helper"
  }
}
run "alone" {
  parallel = false
}
run "canary" {
  state_key      = "c"
  expect_no_leak = [var.a]
}
run "last" {
  state_key = "l"
}
`)})
	if bag.HasErrors() {
		t.Fatal(bag.List())
	}
	want := []Wait{{}, {On: []int{0}}, {On: []int{0, 1}}, {On: []int{0, 2}}, {On: []int{0}}, {On: []int{0}}, {Before: 6}, {Before: 7}, {Before: 8}}
	if got := list[0].Waits(); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestStays checks that skip_cleanup of the test block and of runs is read, and that a backend block is read.
func TestStays(t *testing.T) {
	list, bag := read(t, config.Memory{"a.tftest.hcl": []byte("run \"a\" {\n  backend \"local\" {}\n}\nrun \"b\" {\n  skip_cleanup = false\n  state_key = \"b\"\n}\ntest {\n  skip_cleanup = true\n}\n")})
	runs := list[0].Runs
	if bag.Len() > 0 || !runs[0].SkipCleanup || runs[1].SkipCleanup || runs[0].Backend == nil || runs[0].Backend.Type != "local" {
		t.Errorf("%+v %+v %v", runs[0], runs[1], bag.List())
	}
}
