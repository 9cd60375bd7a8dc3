package suite

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/config/testfile"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/zclconf/go-cty/cty"
)

// values returns the values of the variables of a run. These are the sources of values, the most important first: the
// run, the file, the command line, the defaults of the file's variable blocks. Values of the file may refer to values
// of the command line. Values of the run may refer to both. All may refer to outputs of earlier runs. values returns
// false if it has reported an error.
func (x *execution) values(r *Run, m *config.Module, bag *diag.Bag) (map[string]frame.Given, bool) {
	given := maps.Clone(x.given)
	for name := range m.Variables {
		if run, is := testfile.RunOf(name); is {
			if v, done := r.output(run); done {
				given[name] = frame.Given{Value: v, From: "the run " + run}
			}
		}
	}
	ok := x.addFixed(given, m, r, bag)
	ok = x.add(given, r.Variables, r.Variables, m, r, bag) && ok
	x.undeclared(r, m, bag)
	return given, ok && x.complete(given, m, r, bag)
}

// complete reports an error for each required variable of the module that has no value. It returns false if it has
// reported an error.
func (x *execution) complete(given map[string]frame.Given, m *config.Module, r *Run, bag *diag.Bag) bool {
	ok := true
	for _, name := range slices.Sorted(maps.Keys(m.Variables)) {
		v := m.Variables[name]
		if _, set := given[name]; set || v.Default != cty.NilVal {
			continue
		}
		ok = false
		bag.Add(diag.Errorf("No value for required variable", "The module under test for run block %q has a required variable %q with no set value. Use a -var or -var-file command line argument or add this variable into a \"variables\" block within the test file or run block.", r.Name, name).At(v.Range))
	}
	return ok
}

// declaredOnly returns the values whose variables the module declares.
func declaredOnly(given map[string]frame.Given, m *config.Module) map[string]frame.Given {
	out := maps.Clone(given)
	for name := range given {
		if m.Variables[name] == nil {
			delete(out, name)
		}
	}
	return out
}

// add evaluates values of a variables block and adds them to given. block has all values of the block, which cannot refer
// to each other. add returns false after an error.
func (x *execution) add(given map[string]frame.Given, values, block map[string]*testfile.Value, m *config.Module, r *Run, bag *diag.Bag) bool {
	ok := true
	before := given
	if len(values) > 0 {
		before = maps.Clone(given)
	}
	s := sync.OnceValue(func() *frame.StaticFrame { return x.static(before, m) })
	for _, name := range slices.Sorted(maps.Keys(values)) {
		v := values[name]
		if v.Plain != cty.NilVal {
			given[name] = frame.Given{Value: v.Plain, From: x.file.Name, Range: v.Expr.Range()}
			continue
		}
		refs := testfile.RefsOf(v.Expr)
		if !outside(refs, bag) || !x.known(refs, r, bag) || !x.set(refs, before, m, bag) || !apart(refs, before, block, bag) || !r.settled(testfile.OutputsOf(v.Expr), bag) {
			ok = false
			continue
		}
		value, good := s().EvalWith(v.Expr, "the value of "+name, r.names(refs), bag)
		ok = ok && good
		given[name] = frame.Given{Value: value.Join(), From: x.file.Name, Range: v.Expr.Range()}
	}
	return ok
}

// addFixed adds the values of the file's variables block to given. Each value is evaluated only once for all runs. The
// exception is a value that refers to a default of the module, because the runs may test different modules. addFixed
// returns false after an error.
func (x *execution) addFixed(given map[string]frame.Given, m *config.Module, r *Run, bag *diag.Bag) bool {
	x.fixed.mu.Lock()
	defer x.fixed.mu.Unlock()
	if x.fixed.values == nil {
		x.fixed.values = map[string]frame.Given{}
	}
	open := maps.Clone(x.file.Variables)
	for name := range x.fixed.values {
		delete(open, name)
	}
	ok := x.add(given, open, x.file.Variables, m, r, bag)
	maps.Copy(given, x.fixed.values)
	for name, v := range open {
		if ok && !x.refersToModule(v) {
			x.fixed.values[name] = given[name]
		}
	}
	return ok
}

// refersToModule reports whether a value refers to a variable that can have its value from a default of the module
// under test.
func (x *execution) refersToModule(v *testfile.Value) bool {
	if v.Plain != cty.NilVal {
		return false
	}
	for ref := range testfile.RefsOf(v.Expr) {
		if _, is := x.given[ref.Name]; ref.Root == "var" && !is {
			return true
		}
	}
	return false
}

// set reports an error for each reference to a variable that the test file or the module declares, and that has neither
// a value in given nor a default. It returns false if it reported any.
func (x *execution) set(refs testfile.Refs, given map[string]frame.Given, m *config.Module, bag *diag.Bag) bool {
	ok := true
	for ref := range refs {
		v := cmp.Or(x.file.Declared[ref.Name], m.Variables[ref.Name])
		if _, is := given[ref.Name]; is || ref.Root != "var" || v == nil || v.Default != cty.NilVal {
			continue
		}
		ok = false
		bag.Add(diag.Errorf("No value for required variable", "Values in the test file %s refer to the variable %q, which has no value. Use -var or -var-file, or set a default.", x.file.Name, ref.Name).At(v.Range))
	}
	return ok
}

// apart reports an error for each reference to a variable that only the same block sets. Without this check, the value
// would be the default of the variable and not the value in the block. It returns false if it reported any.
func apart(refs testfile.Refs, given map[string]frame.Given, block map[string]*testfile.Value, bag *diag.Bag) bool {
	ok := true
	for ref, at := range refs {
		if _, is := given[ref.Name]; is || ref.Root != "var" || block[ref.Name] == nil {
			continue
		}
		ok = false
		bag.Add(diag.Errorf("Reference to unavailable variable", "The variable %q gets its value in the same \"variables\" block, and the values of one block cannot refer to each other. Repeat the value, or set it outside of the block, such as with -var.", ref.Name).At(at))
	}
	return ok
}

// static returns a frame that evaluates expressions of the file with the values in given.
func (x *execution) static(given map[string]frame.Given, declared *config.Module) *frame.StaticFrame {
	m := &config.Module{Dir: declared.Dir, Variables: map[string]*config.Variable{}}
	for name := range given {
		if m.Variables[name] = cmp.Or(x.file.Declared[name], declared.Variables[name]); m.Variables[name] == nil {
			m.Variables[name] = &config.Variable{Name: name, Type: cty.DynamicPseudoType, Nullable: true, Default: cty.NilVal}
		}
	}
	for _, all := range []map[string]*config.Variable{x.file.Declared, declared.Variables} {
		for name, v := range all {
			if m.Variables[name] == nil && v.Default != cty.NilVal {
				m.Variables[name] = v
			}
		}
	}
	return frame.Static(m, given, x.suite.Modules.FrameOptions())
}

// names returns the names for expressions of the file: the object run. It contains the outputs of the earlier runs that
// refs names.
func (r *Run) names(refs testfile.Refs) map[string]cty.Value {
	runs := map[string]cty.Value{}
	for ref := range refs {
		if v, ok := r.output(ref.Name); ok && ref.Root == "run" {
			runs[ref.Name] = v
		}
	}
	return map[string]cty.Value{"run": cty.ObjectVal(runs)}
}

// known reports an error for each reference to a run that has not ended or does not exist. It returns false if it
// reported any.
func (x *execution) known(refs testfile.Refs, r *Run, bag *diag.Bag) bool {
	ok := true
	for ref, at := range refs {
		name, is := ref.Run()
		if _, done := r.output(name); !is || done {
			continue
		}
		ok = false
		bag.Add(x.file.Unavailable(name).At(at))
	}
	return ok
}

// outside reports an error for each reference to a value that exists only during a run. The values for a run must be
// known before the run. It returns false if it reported any.
func outside(refs testfile.Refs, bag *diag.Bag) bool {
	ok := true
	for ref, at := range refs {
		if ref.Name == "" || slices.Contains([]string{"var", "run", "path", "terraform"}, ref.Root) {
			continue
		}
		ok = false
		bag.Add(diag.Errorf("Invalid reference", "%s.%s has no value before the run. Use variables, paths and outputs of earlier runs, such as run.NAME.OUTPUT.", ref.Root, ref.Name).At(at))
	}
	return ok
}

// settled reports an error for each of the given outputs of earlier runs whose value is unknown. The values for a run
// must be known. It returns false if it reported any.
func (r *Run) settled(outputs []testfile.Output, bag *diag.Bag) bool {
	ok := true
	for _, o := range outputs {
		earlier := r.earlier(o.Run)
		if earlier == nil || !earlier.outputs.Type().HasAttribute(o.Name) || earlier.outputs.GetAttr(o.Name).IsKnown() {
			continue
		}
		ok = false
		why := "It could not be evaluated in that run."
		if earlier.Plan {
			why = fmt.Sprintf("Run block %q has command = plan, and the output is known only after apply. Use command = apply.", o.Run)
		}
		bag.Add(diag.Errorf("Reference to unknown value", "The value for run.%s.%s is unknown. %s", o.Run, o.Name, why).At(o.Range))
	}
	return ok
}

// providers checks the provider settings that the module uses. It reports an error for each reference to a run that has
// not ended, or to an output that is unknown. It returns false if it reported any.
func (x *execution) providers(v *variant, m *config.Module, r *Run, bag *diag.Bag) bool {
	ok := true
	byName := func(a, b config.ProviderName) int { return cmp.Compare(a.String(), b.String()) }
	for _, name := range slices.SortedFunc(maps.Keys(v.providers), byName) {
		p := v.providers[name]
		ok = (!uses(m, name) || x.known(testfile.ProviderRefs(p), r, bag) && r.settled(testfile.ProviderOutputs(p), bag)) && ok
	}
	return ok
}

// uses reports whether a module uses a provider configuration. It returns true for every configuration without an
// alias, because resources may use it without naming it.
func uses(m *config.Module, name config.ProviderName) bool {
	for _, res := range m.Resources {
		if res.Provider != nil && res.Provider.ProviderName == name {
			return true
		}
	}
	for _, call := range m.Calls {
		if slices.ContainsFunc(call.Providers, func(p config.Passed) bool { return p.Parent.ProviderName == name }) {
			return true
		}
	}
	return name.Alias == ""
}

// undeclared warns of values of a run for variables that the module does not declare.
func (x *execution) undeclared(r *Run, m *config.Module, bag *diag.Bag) {
	for _, name := range slices.Sorted(maps.Keys(r.Variables)) {
		if m.Variables[name] == nil {
			bag.Add(diag.Warningf("Value for undeclared variable", "The module under test does not declare a variable named %q, but it is declared in run block %q.", name, r.Name).At(r.Variables[name].Expr.Range()))
		}
	}
}
