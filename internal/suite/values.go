package suite

import (
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/config/testfile"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/zclconf/go-cty/cty"
)

// values are what a run gives to the variables of its module. What the run says goes before what the file says, and that
// before the command line. Values of the file may use those of the command line, values of the run all of these, and
// both the outputs of earlier runs.
func (x *execution) values(r *Run, c *compiled, bag *diag.Bag) (map[string]frame.Given, bool) {
	given := maps.Clone(x.suite.Given)
	if given == nil {
		given = map[string]frame.Given{}
	}
	for name, v := range x.outputs {
		given[testfile.RunVariable(name)] = frame.Given{Value: v, From: "the run " + name}
	}
	ok := x.add(given, x.file.Variables, c, r, bag)
	ok = x.add(given, r.Variables, c, r, bag) && ok
	x.undeclared(r, c, bag)
	for name := range given {
		if c.tree.Root.Module.Variables[name] == nil {
			delete(given, name)
		}
	}
	return given, ok
}

// add evaluates the values of a variables block on top of others.
func (x *execution) add(given map[string]frame.Given, values map[string]*testfile.Value, c *compiled, r *Run, bag *diag.Bag) bool {
	ok := true
	s := x.static(maps.Clone(given), c)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		v := values[name]
		if !x.known(testfile.RefsOf(v.Expr), r, bag) {
			ok = false
			continue
		}
		value, good := s.EvalWith(v.Expr, "the value of "+name, x.names(), bag)
		ok = ok && good
		given[name] = frame.Given{Value: value.Join(), From: x.file.Name, Range: v.Expr.Range()}
	}
	return ok
}

// static evaluates expressions of the file, with these variables.
func (x *execution) static(given map[string]frame.Given, c *compiled) *frame.StaticFrame {
	m := &config.Module{Dir: c.tree.Root.Module.Dir, Variables: map[string]*config.Variable{}}
	for name := range given {
		if m.Variables[name] = c.tree.Root.Module.Variables[name]; m.Variables[name] == nil {
			m.Variables[name] = &config.Variable{Name: name, Type: cty.DynamicPseudoType, Nullable: true, Default: cty.NilVal}
		}
	}
	for name, v := range c.tree.Root.Module.Variables {
		if m.Variables[name] == nil && v.Default != cty.NilVal {
			m.Variables[name] = v
		}
	}
	return frame.Static(m, given, x.suite.Options(c.tree))
}

// names are what expressions of the file may use beside variables.
func (x *execution) names() map[string]cty.Value {
	return map[string]cty.Value{"run": cty.ObjectVal(x.outputs)}
}

// known refuses references to runs that are not over, or not there.
func (x *execution) known(refs testfile.Refs, r *Run, bag *diag.Bag) bool {
	ok := true
	for ref, at := range refs {
		if _, over := x.outputs[ref.Name]; ref.Root != "run" || over {
			continue
		}
		ok = false
		if slices.ContainsFunc(x.file.Runs, func(o *Run) bool { return o.Name == ref.Name }) {
			bag.Add(diag.Errorf("Reference to unavailable run block", "The run block %q comes after this one, or is this one itself. Only outputs of earlier runs can be used.", ref.Name).At(at))
			continue
		}
		bag.Add(diag.Errorf("Reference to unknown run block", "The run block %q does not exist within this test file. You can use outputs of the runs that come before in the same file.", ref.Name).At(at))
	}
	return ok
}

// undeclared warns of values of a run that nothing takes.
func (x *execution) undeclared(r *Run, c *compiled, bag *diag.Bag) {
	for _, name := range slices.Sorted(maps.Keys(r.Variables)) {
		if c.tree.Root.Module.Variables[name] == nil {
			bag.Add(diag.Warningf("Value for undeclared variable", "The module under test does not declare a variable named %q, but it is declared in run block %q.", name, r.Name).At(r.Variables[name].Expr.Range()))
		}
	}
}
