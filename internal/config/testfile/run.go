package testfile

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/config/native"
	"github.com/lethe-iac/lethe/internal/diag"
)

var (
	runSchema = &hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{
			{Name: "command"}, {Name: "providers"}, {Name: "expect_failures"}, {Name: "state_key"}, {Name: "parallel"},
			{Name: "skip_cleanup"}, {Name: "expect_no_leak"},
		},
		Blocks: slices.Concat([]hcl.BlockHeaderSchema{
			{Type: "plan_options"}, {Type: "assert"}, {Type: "variables"}, {Type: "module"}, {Type: "backend", LabelNames: []string{"type"}},
		}, overrideBlocks),
	}
	planOptionsSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "mode"}, {Name: "refresh"}, {Name: "replace"}, {Name: "target"}}}
	moduleSchema      = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "source", Required: true}, {Name: "version"}}}
)

// run reads a run block, and reports mistakes to r.Bag. The result lacks the arguments with mistakes.
func (r *reader) run(b *hcl.Block) *Run {
	run := &Run{Name: b.Labels[0], Range: config.Place(b), Variables: map[string]*Value{}, Parallel: r.parallel, SkipCleanup: r.skipCleanup}
	r.Name(b, "Invalid run block name")
	content, _ := r.Content(b.Body, runSchema)
	r.Bool(content.Attributes["skip_cleanup"], &run.SkipCleanup)
	r.Bool(content.Attributes["parallel"], &run.Parallel)
	if a := content.Attributes["command"]; a != nil {
		word := r.Word(a)
		if run.Plan = word == "plan"; word != "apply" && word != "plan" {
			r.Bag.Add(diag.Errorf("Invalid \"command\" keyword", "The \"command\" of a run must be the bare word apply or plan.").At(a.Expr.Range()))
		}
	}
	r.Text(content.Attributes["state_key"], &run.StateKey)
	if a := content.Attributes["providers"]; a != nil {
		run.Providers = append([]config.Passed{}, r.Passed(a)...)
	}
	run.Expected = r.References(content.Attributes["expect_failures"], "var.name")
	for i := range run.Expected {
		r.checkable(&run.Expected[i])
	}
	run.NoLeak = r.canaries(content.Attributes["expect_no_leak"])
	r.blocks(run, content.Blocks)
	if a := content.Attributes["skip_cleanup"]; a != nil && run.Backend != nil && !run.SkipCleanup {
		r.Bag.Add(diag.Errorf("Invalid skip_cleanup value", "A run with a backend block keeps its objects in any case, because their state is in the backend. Remove the argument \"skip_cleanup\" or the backend block.").At(a.Range))
	}
	return run
}

// single holds the block types that a run may have only once.
var single = []string{"plan_options", "module", "variables", "backend"}

func (r *reader) blocks(run *Run, blocks hcl.Blocks) {
	once := map[string]*hcl.Block{}
	for _, b := range blocks {
		first := once[b.Type]
		if once[b.Type] = b; first != nil && slices.Contains(single, b.Type) {
			r.again(b, first, "run block")
			continue
		}
		switch b.Type {
		case "assert":
			if c, ok := r.Condition(b); ok {
				run.Asserts = append(run.Asserts, c)
			}
		case "variables":
			r.variables(b, run.Variables)
		case "plan_options":
			r.planOptions(run, b)
		case "module":
			r.module(run, b)
		case "backend":
			run.Backend = &config.Backend{Type: b.Labels[0], Body: b.Body, Range: config.Place(b)}
		default:
			run.Overrides = r.override(b, run.Overrides)
		}
	}
}

// planOptions reads the plan_options block of a run, and reports mistakes to r.Bag.
func (r *reader) planOptions(run *Run, b *hcl.Block) {
	content, _ := r.Content(b.Body, planOptionsSchema)
	if a := content.Attributes["mode"]; a != nil {
		word := r.Word(a)
		if run.RefreshOnly = word == "refresh-only"; word != "normal" && word != "refresh-only" {
			r.Bag.Add(diag.Errorf("Invalid \"mode\" keyword", "The \"mode\" of a plan must be the bare word normal or refresh-only.").At(a.Expr.Range()))
		}
	}
	refresh := true
	r.Bool(content.Attributes["refresh"], &refresh)
	if run.NoRefresh = !refresh; run.NoRefresh && run.RefreshOnly {
		r.Bag.Add(diag.Errorf("Incompatible refresh options", "A refresh-only plan must refresh. Remove one of the two arguments.").At(content.Attributes["refresh"].Range))
	}
	if a := content.Attributes["replace"]; a != nil && run.RefreshOnly {
		r.Bag.Add(diag.Errorf("Unsupported plan mode", "A refresh-only plan replaces no objects. Remove \"replace\" or the mode refresh-only.").At(a.Range))
	}
	for _, ref := range r.References(content.Attributes["target"], "aws_vpc.main") {
		if t, err := addr.ParseTarget(ref.Text); err == nil {
			run.Targets = append(run.Targets, t)
		} else {
			r.badAddress(ref, err)
		}
	}
	for _, ref := range r.References(content.Attributes["replace"], "aws_vpc.main") {
		if i, err := addr.ParseInstance(ref.Text); err == nil {
			run.Replace = append(run.Replace, i)
		} else {
			r.badAddress(ref, err)
		}
	}
}

func (r *reader) badAddress(ref config.Reference, err error) {
	r.Bag.Add(diag.Errorf("Invalid address", "%s.", err).At(ref.Range))
}

// module reads the module block of a run, which names the module to test instead of the root module.
func (r *reader) module(run *Run, b *hcl.Block) {
	content, ok := r.Content(b.Body, moduleSchema)
	if !ok {
		return
	}
	run.Module = &config.Call{Name: run.Name, Source: content.Attributes["source"].Expr, SourceRange: content.Attributes["source"].Expr.Range(), Range: config.Place(b)}
	if a := content.Attributes["version"]; a != nil {
		run.Module.Versions = a.Expr
	}
}

// checkable reports an error if a reference in expect_failures names an object that cannot have conditions.
func (r *reader) checkable(ref *config.Reference) {
	root, name, _ := strings.Cut(ref.Text, ".")
	switch root {
	case "var", "output", "check":
		if name != "" && !strings.ContainsAny(name, ".[") {
			return
		}
	case "local", "path", "terraform", "module", "run", "each", "count", "self":
	default:
		if t, err := addr.ParseTarget(ref.Text); err == nil && t.Mode != 0 {
			ref.Text = strings.TrimPrefix(ref.Text, "resource.") // diagnostics name resources without the prefix resource.
			return
		}
	}
	r.Bag.Add(diag.Errorf("Invalid `expect_failures` reference", "You cannot expect failures from %s. Name an input variable, an output, a check block or a resource of the module under test.", ref.Text).At(ref.Range))
}

// canaries reads an expect_no_leak argument. It returns nil if a is nil, and also after reporting an error if the
// argument is not a list.
func (r *reader) canaries(a *hcl.Attribute) (out []*Canary) {
	if a == nil {
		return nil
	}
	items, ds := hcl.ExprList(a.Expr)
	if ds.HasErrors() {
		r.Bag.Add(diag.Errorf("Invalid expression", "A static list of values is required for %q, such as [var.password, run.setup.token].", a.Name).At(a.Expr.Range()))
		return nil
	}
	for _, item := range items {
		e, ds := native.Expression(item)
		r.Bag.HCL(ds)
		out = append(out, &Canary{e, item.Range()})
	}
	return out
}
