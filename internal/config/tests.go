package config

import (
	"github.com/lethe-iac/lethe/internal/limits"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/diag"
)

// Test files say what commands of a test run, and what is to be true then. They are not run here, but a
// broken one is found.

var (
	mockBlocks = []hcl.BlockHeaderSchema{
		{Type: "override_resource"}, {Type: "override_data"}, {Type: "override_module"}, {Type: "override_ephemeral"},
	}
	testSchema = &hcl.BodySchema{Blocks: slices.Concat([]hcl.BlockHeaderSchema{
		{Type: "run", LabelNames: []string{"name"}}, {Type: "provider", LabelNames: []string{"name"}},
		{Type: "mock_provider", LabelNames: []string{"name"}}, {Type: "variables"}, {Type: "test"},
	}, mockBlocks)}
	runSchema = &hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "command"}, {Name: "providers"}, {Name: "expect_failures"}, {Name: "state_key"}, {Name: "parallel"}, {Name: "skip_cleanup"}},
		Blocks: slices.Concat([]hcl.BlockHeaderSchema{
			{Type: "plan_options"}, {Type: "assert"}, {Type: "variables"}, {Type: "module"}, {Type: "backend", LabelNames: []string{"type"}},
		}, mockBlocks),
	}
)

// CheckTests checks the test files of some directories.
func CheckTests(dirs []string, o Options, sources *diag.Sources, bag *diag.Bag) {
	o = o.filled()
	for _, dir := range dirs {
		names, err := o.Files.List(dir)
		if err != nil {
			continue // a module need not have tests
		}
		for _, name := range names {
			if !isTest(name) || ignored(name) {
				continue
			}
			path := o.Files.Join(dir, name)
			text, err := o.Files.Read(path, o.Limits.Bytes)
			if err != nil {
				bag.Add(unreadableFile(o.Display(path), err))
				continue
			}
			sources.Set(o.Display(path), text)
			checkTest(o.Display(path), text, o.Limits, bag)
		}
	}
}

func isTest(name string) bool {
	return slices.ContainsFunc([]string{".tftest.hcl", ".tftest.json", ".tofutest.hcl", ".tofutest.json"}, func(end string) bool { return strings.HasSuffix(name, end) })
}

func checkTest(name string, text []byte, l limits.Limits, bag *diag.Bag) {
	body, ok := ParseBody(name, text, l, bag)
	if !ok {
		return
	}
	content, ds := body.Content(testSchema)
	bag.HCL(ds)
	seen := map[string]*hcl.Block{}
	for _, b := range content.Blocks {
		if b.Type != "run" {
			continue
		}
		if first := seen[b.Labels[0]]; first != nil {
			bag.Add(diag.Errorf("Duplicate \"run\" block names", "A run block named %q was declared at %s already. Names of runs are unique in a file.", b.Labels[0], place(first)).At(place(b)))
		}
		seen[b.Labels[0]] = b
		checkRun(b, bag)
	}
}

func checkRun(b *hcl.Block, bag *diag.Bag) {
	content, ds := b.Body.Content(runSchema)
	bag.HCL(ds)
	if a := content.Attributes["command"]; a != nil {
		if kw := word(a.Expr); kw != "apply" && kw != "plan" {
			bag.Add(diag.Errorf("Invalid \"command\" keyword", "The \"command\" of a run is one of the bare words apply and plan.").At(a.Expr.Range()))
		}
	}
	for _, inner := range content.Blocks {
		if inner.Type == "assert" {
			_, ds := inner.Body.Content(conditionSchema)
			bag.HCL(ds)
		}
	}
}
