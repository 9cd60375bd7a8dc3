package plugins

import (
	"context"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/base/basetest"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/fetch"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/state"
)

// with calls the function do with the Installation of a directory whose configuration requires the provider test, which
// is not installed. It returns all output.
func with(d *basetest.Dir, do func(*base.Call, *Installation, *config.Tree, addr.Provider)) string {
	d.Helper()
	d.Write("main.tf", "resource \"test_thing\" \"a\" {}\n")
	return d.Do(func(_ context.Context, c *base.Call) {
		dir, ok := workdir.Open(c, &workdir.Options{})
		if !ok {
			d.Fatal("not opened")
		}
		tree, _ := config.LoadTree(dir.Root, dir.LoadOptions(), nil, &c.Bag)
		do(c, New(dir), tree, tree.Root.Module.Required["test"].Source)
	})
}

func TestMissingProviderIsReportedAndNotStarted(t *testing.T) {
	with(basetest.New(t, ""), func(_ *base.Call, i *Installation, tree *config.Tree, a addr.Provider) {
		var bag diag.Bag
		absent, ok := i.Check(tree, []fetch.Need{{Provider: a}}, nil, &bag)
		if ok || !absent[a] || bag.Len() != 1 || bag.List()[0].Summary != "Missing required provider" {
			t.Errorf("%t, %v, %v", ok, absent, bag.List())
		}
	})
}

func TestKnownAndBuiltInProvidersNeedNotBeInstalled(t *testing.T) {
	with(basetest.New(t, ""), func(_ *base.Call, i *Installation, tree *config.Tree, a addr.Provider) {
		var bag diag.Bag
		needs := []fetch.Need{{Provider: a}, {Provider: addr.Builtin("terraform")}}
		absent, ok := i.Check(tree, needs, map[addr.Provider]*provider.Schemas{a: {}}, &bag)
		if !ok || absent[a] || bag.Len() > 0 {
			t.Errorf("%t, %v, %v", ok, absent, bag.List())
		}
	})
}

func TestProviderOfAnotherVersionThanTheLockedOneIsReported(t *testing.T) {
	d := basetest.New(t, "")
	d.Write(".terraform.lock.hcl", "provider \"registry.opentofu.org/hashicorp/test\" {\n  version = \"1.0.0\"\n}\n")
	with(d, func(_ *base.Call, i *Installation, tree *config.Tree, a addr.Provider) {
		var bag diag.Bag
		absent, ok := i.Check(tree, []fetch.Need{{Provider: a}}, nil, &bag)
		if ok || !absent[a] || bag.Len() != 1 || bag.List()[0].Summary != "Required plugins are not installed" {
			t.Errorf("%t, %v, %v", ok, absent, bag.List())
		}
	})
}

func TestOverriddenProviderIsDeveloped(t *testing.T) {
	d := basetest.New(t, "")
	d.Write("rc", "provider_installation {\n  dev_overrides {\n    \"hashicorp/test\" = \"/nowhere\"\n  }\n  direct {}\n}\n")
	d.Environ = []string{"TF_CLI_CONFIG_FILE=" + d.Path + "/rc"}
	out := with(d, func(_ *base.Call, i *Installation, _ *config.Tree, a addr.Provider) {
		if !i.Developed(a) || i.Attached(a) {
			t.Errorf("%t, %t", i.Developed(a), i.Attached(a))
		}
		i.WarnOverrides()
	})
	if !strings.Contains(out, "Provider development overrides are in effect") {
		t.Error(out)
	}
}

func TestStateNeedsOnlyWhatTheConfigurationDoesNot(t *testing.T) {
	var bag diag.Bag
	object := func(name string) string {
		return `{"mode":"managed","type":"` + name + `_x","name":"x","provider":"provider[\"registry.terraform.io/hashicorp/` + name + `\"]","instances":[{"schema_version":0,"attributes":{}}]}`
	}
	s, ok := state.Read([]byte(`{"version":4,"terraform_version":"1.9.0","serial":1,"lineage":"l","outputs":{},"resources":[`+object("a")+","+object("b")+`],"check_results":null}`), &bag)
	if !ok {
		t.Fatal(bag.List())
	}
	a, err := addr.ParseProvider("registry.opentofu.org/hashicorp/a") // the same provider, from the registry of OpenTofu
	if err != nil {
		t.Fatal(err)
	}
	if needs := StateNeeds(s, []fetch.Need{{Provider: a}}); len(needs) != 1 || needs[0].Provider.Type != "b" {
		t.Errorf("%v", needs)
	}
	if needs := StateNeeds(s, nil); len(needs) != 2 {
		t.Errorf("%v", needs)
	}
}
