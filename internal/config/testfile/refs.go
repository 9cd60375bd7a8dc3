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

// Refs holds the names to which expressions of a test file refer. The value of a name is the range of one reference to
// it.
type Refs map[Ref]diag.Range

// Ref is the first two names of a reference, such as run and setup in run.setup.id.
type Ref struct{ Root, Name string }

// Run returns the name of the run to which a reference refers, as run.NAME or through the variable that RunVariable
// names. It returns false for any other reference.
func (r Ref) Run() (string, bool) {
	switch r.Root {
	case "run":
		return r.Name, true
	case "var":
		return RunOf(r.Name)
	}
	return "", false
}

// add adds the references in expressions. For a reference that occurs several times, it keeps the first place.
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

// RefsOf returns the references in expressions.
func RefsOf(es ...hcl.Expression) Refs {
	r := Refs{}
	r.add(es...)
	return r
}

// AssertRefs returns the references in the assertions of a run.
func (run *Run) AssertRefs() Refs {
	r := Refs{}
	for _, a := range run.Asserts {
		r.add(a.Condition, a.Message)
	}
	return r
}

// ProviderRefs returns the references in the settings of a provider.
func ProviderRefs(p *config.Provider) Refs { return RefsOf(settings(p)...) }

// settings returns expressions that contain all references in the settings of a provider.
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

// OutputsOf returns the outputs of runs that expressions refer to, as run.NAME.OUTPUT or as an attribute of the
// variable that RunVariable names.
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

// ProviderOutputs returns the outputs of runs that the settings of a provider refer to.
func ProviderOutputs(p *config.Provider) []Output { return OutputsOf(settings(p)...) }

// Lease is a reference to the leases (the openings) of an ephemeral resource in a run. Its value contains how often the
// resource was opened, renewed and closed, and how long it was open.
type Lease struct {
	Resource addr.Resource
	Range    diag.Range
}

// LeasesOf returns the references of the form lease.ephemeral.TYPE.NAME in an expression. It ignores all other
// references.
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

// Wanted returns the variables that the file declares and the variables that its expressions refer to. Variables
// without a declaration accept any type.
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

// RunVariable returns the name of the variable that contains the outputs of a run for the settings of providers. No
// variable of a configuration can have this name.
func RunVariable(run string) string { return "run." + run }

// RunOf returns the run whose outputs a variable contains (see RunVariable). It returns false for any other variable.
func RunOf(variable string) (string, bool) { return strings.CutPrefix(variable, "run.") }

// liftRuns replaces references to runs in the settings of a provider by references to variables (see RunVariable),
// because provider blocks cannot refer to runs. It returns false if the settings are in JSON syntax and refer to a run.
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

// lift replaces references to runs, such as run.a.id, by references to variables, such as var.NAME.id with the name
// that RunVariable returns for the run. It changes the nodes in place.
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

// source returns the source of the module that a run tests. It returns "" for the root module. If the source is not a
// constant, it returns the name of the run.
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

// Wait lists the runs that must finish before a run starts, by their indexes in the file: all runs before index Before,
// and the later runs in On.
type Wait struct {
	Before int
	On     []int
}

// Waits returns the runs that each run waits for:
//
//   - all earlier runs, if the run itself may not run at the same time as others;
//   - all runs up to and including the last earlier run that may not run at the same time as others;
//   - earlier runs to whose outputs the run refers, or the declarations of the file that apply to all runs;
//   - earlier runs that use the same state.
func (f *File) Waits() []Wait {
	everywhere := f.uses()
	waits := make([]Wait, len(f.Runs))
	alone := 0 // the index of the first run that the next run may run at the same time with
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

// alongside reports whether a run may run at the same time as other runs. A run with canaries may not: the log is
// searched for the canaries of the run, and the log contains the output of all runs.
func (run *Run) alongside() bool { return run.Parallel && len(run.NoLeak) == 0 }

// Uses returns the references of a run, and of the declarations of the file that apply to all runs.
func (f *File) Uses(run *Run) Refs {
	r := f.uses()
	maps.Copy(r, run.uses())
	return r
}

// uses returns the references in the declarations of the file that apply to all runs.
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

// uses returns the references of a run.
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

// Use reports whether r contains a reference to a run.
func (r Refs) Use(run string) bool {
	_, used := r.run(run)
	return used
}

// run returns the range of a reference to the run with this name, as run.NAME or through the variable that RunVariable
// names. It returns false if r has no such reference.
func (r Refs) run(name string) (diag.Range, bool) {
	if at, ok := r[Ref{"run", name}]; ok {
		return at, true
	}
	at, ok := r[Ref{"var", RunVariable(name)}]
	return at, ok
}
