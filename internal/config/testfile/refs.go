package testfile

import (
	"maps"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/zclconf/go-cty/cty"
)

// Refs are the names that expressions of a test file refer to, each with one place where it stands.
type Refs map[Ref]diag.Range

// Ref is the first two names of a reference.
type Ref struct{ Root, Name string }

// Run is the run that a reference is to, by its own name or by that of a variable that stands for it (see RunVariable).
func (r Ref) Run() (string, bool) {
	switch r.Root {
	case "run":
		return r.Name, true
	case "var":
		return RunOf(r.Name)
	}
	return "", false
}

// add takes in what expressions refer to.
func (r Refs) add(es ...hcl.Expression) {
	for _, e := range es {
		if e == nil {
			continue
		}
		for _, t := range e.Variables() {
			name := ""
			if len(t) > 1 {
				if a, ok := t[1].(hcl.TraverseAttr); ok {
					name = a.Name
				}
			}
			ref := Ref{t.RootName(), name}
			if _, seen := r[ref]; !seen {
				r[ref] = t[:min(len(t), 2)].SourceRange()
			}
		}
	}
}

// RefsOf are those of an expression.
func RefsOf(es ...hcl.Expression) Refs {
	r := Refs{}
	r.add(es...)
	return r
}

// AssertRefs are those of what a run asserts.
func (run *Run) AssertRefs() Refs {
	r := Refs{}
	for _, a := range run.Asserts {
		r.add(a.Condition, a.Message)
	}
	return r
}

// ProviderRefs are those of the settings of a provider.
func ProviderRefs(p *config.Provider) Refs { return RefsOf(settings(p)...) }

// settings are expressions that have all references in the settings of a provider.
func settings(p *config.Provider) []hcl.Expression {
	list := []hcl.Expression{p.ForEach}
	if body, ok := p.Body.(*hclsyntax.Body); ok {
		_ = hclsyntax.VisitAll(body, func(n hclsyntax.Node) hcl.Diagnostics {
			if e, ok := n.(*hclsyntax.ScopeTraversalExpr); ok {
				list = append(list, e)
			}
			return nil
		})
		return list
	}
	attrs, _ := p.Body.JustAttributes()
	for _, a := range attrs {
		list = append(list, a.Expr)
	}
	return list
}

// Output is a reference to an output of a run.
type Output struct {
	Run, Name string
	Range     diag.Range
}

// OutputsOf are the outputs of runs that expressions refer to, as these were written.
func OutputsOf(es ...hcl.Expression) (out []Output) {
	for _, e := range es {
		if e == nil {
			continue
		}
		for _, t := range e.Variables() {
			if len(t) < 3 {
				continue
			}
			first, _ := t[1].(hcl.TraverseAttr)
			name, ok := t[2].(hcl.TraverseAttr)
			if run, is := (Ref{t.RootName(), first.Name}).Run(); ok && is {
				out = append(out, Output{run, name.Name, t[:3].SourceRange()})
			}
		}
	}
	return out
}

// ProviderOutputs are those that the settings of a provider refer to.
func ProviderOutputs(p *config.Provider) []Output { return OutputsOf(settings(p)...) }

// Lease is a reference to what a run knows of the leases of an ephemeral resource.
type Lease struct {
	Resource addr.Resource
	Range    diag.Range
}

// LeasesOf are those that an expression refers to.
func LeasesOf(e hcl.Expression) (out []Lease) {
	for _, t := range e.Variables() {
		if len(t) < 4 || t.RootName() != "lease" {
			continue
		}
		mode, _ := t[1].(hcl.TraverseAttr)
		kind, _ := t[2].(hcl.TraverseAttr)
		if name, ok := t[3].(hcl.TraverseAttr); ok && mode.Name == addr.Ephemeral.Block() {
			out = append(out, Lease{addr.Resource{Mode: addr.Ephemeral, Type: kind.Name, Name: name.Name}, t[:4].SourceRange()})
		}
	}
	return out
}

// Wanted are the variables that the expressions of a file refer to, as its variable blocks have them: those that it does
// not declare take anything.
func (f *File) Wanted() map[string]*config.Variable {
	r := f.uses()
	for _, run := range f.Runs {
		maps.Copy(r, run.uses())
	}
	out := maps.Clone(f.Declared)
	for ref, at := range r {
		if ref.Root == "var" && out[ref.Name] == nil {
			out[ref.Name] = &config.Variable{Name: ref.Name, Type: cty.DynamicPseudoType, Nullable: true, Default: cty.NilVal, Range: at}
		}
	}
	return out
}

// RunVariable is the name of the variable that stands for the outputs of a run in the settings of providers: no
// variable of a configuration can be called so.
func RunVariable(run string) string { return "run." + run }

// RunOf is the run that a variable stands for (see RunVariable); false if it stands for itself.
func RunOf(variable string) (string, bool) { return strings.CutPrefix(variable, "run.") }

// liftRuns makes references to runs in the settings of a provider references to variables (see RunVariable).
func liftRuns(p *config.Provider) (ok bool) {
	body, native := p.Body.(*hclsyntax.Body)
	if !native {
		for ref := range ProviderRefs(p) {
			if ref.Root == "run" {
				return false
			}
		}
		return true
	}
	lift(body)
	if e, ok := p.ForEach.(hclsyntax.Expression); ok {
		lift(e)
	}
	return true
}

// lift makes references to runs references to variables.
func lift(in hclsyntax.Node) {
	_ = hclsyntax.VisitAll(in, func(n hclsyntax.Node) hcl.Diagnostics {
		e, is := n.(*hclsyntax.ScopeTraversalExpr)
		if !is || e.Traversal.RootName() != "run" || len(e.Traversal) < 2 {
			return nil
		}
		if name, is := e.Traversal[1].(hcl.TraverseAttr); is {
			root := hcl.TraverseRoot{Name: "var", SrcRange: e.Traversal[0].SourceRange()}
			e.Traversal = append(hcl.Traversal{root, hcl.TraverseAttr{Name: RunVariable(name.Name), SrcRange: name.SrcRange}}, e.Traversal[2:]...)
		}
		return nil
	})
}

// source is what a run tests, as the file has it; "" for the module of the working directory.
func (run *Run) source() string {
	if run.Module == nil {
		return ""
	}
	v, ds := run.Module.Source.Value(nil)
	if ds.HasErrors() || v.Type() != cty.String || !v.IsWhollyKnown() || v.IsNull() {
		return run.Name
	}
	return v.AsString()
}

// Wait says which runs must be over before a run begins, by their places among the runs of the file: all before one place,
// and some of those from there on.
type Wait struct {
	Before int
	On     []int
}

// Waits says what each run waits for: all earlier ones where one of the two may not run at the same time as others, those
// whose outputs it uses, and those that use its state.
func (f *File) Waits() []Wait {
	everywhere := f.uses()
	waits := make([]Wait, len(f.Runs))
	alone := 0 // where the runs begin that may run beside the next one
	for i, run := range f.Runs {
		if !run.alongside() {
			waits[i].Before = i
			alone = i + 1
			continue
		}
		waits[i].Before = alone
		uses := run.uses()
		maps.Copy(uses, everywhere)
		for j := alone; j < i; j++ {
			earlier := f.Runs[j]
			same := run.StateKey == earlier.StateKey && (run.StateKey != "" || run.source() == earlier.source())
			if uses.Use(earlier.Name) || same {
				waits[i].On = append(waits[i].On, j)
			}
		}
	}
	return waits
}

// alongside reports whether a run may run at the same time as others. The log is searched for canaries, and is of all.
func (run *Run) alongside() bool { return run.Parallel && len(run.NoLeak) == 0 }

// Uses are the references of a run, and of what the file says for all runs.
func (f *File) Uses(run *Run) Refs {
	r := f.uses()
	maps.Copy(r, run.uses())
	return r
}

// uses are the references of what the file says for all runs.
func (f *File) uses() Refs {
	r := Refs{}
	for _, v := range f.Variables {
		r.add(v.Expr)
	}
	for _, p := range f.Providers {
		maps.Copy(r, ProviderRefs(p))
	}
	for _, m := range f.Mocks {
		r.add(m.ForEach)
		r.overrides(m.Overrides)
		for _, d := range m.Defaults {
			r.add(d.Values)
		}
	}
	r.overrides(f.Overrides)
	return r
}

// uses are the references of a run.
func (run *Run) uses() Refs {
	r := run.AssertRefs()
	for _, v := range run.Variables {
		r.add(v.Expr)
	}
	for _, c := range run.NoLeak {
		r.add(c.Expr)
	}
	r.overrides(run.Overrides)
	return r
}

func (r Refs) overrides(list []*Override) {
	for _, o := range list {
		r.add(o.Values)
	}
}

// Use reports whether they refer to a run.
func (r Refs) Use(run string) bool {
	_, used := r.run(run)
	return used
}

// run finds a reference to a run, as it was written or lifted.
func (r Refs) run(name string) (diag.Range, bool) {
	if at, ok := r[Ref{"run", name}]; ok {
		return at, true
	}
	at, ok := r[Ref{"var", RunVariable(name)}]
	return at, ok
}
