package suite

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/config/testfile"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/state"
)

// verdict collects the result of a run: its status and its diagnostics.
type verdict struct {
	x       *execution
	run     *Run
	applied bool                   // the apply has started
	given   map[string]frame.Given // the values of the variables
	module  *config.Module         // the module under test; nil if the run could not be prepared
}

// judge evaluates the assertions of a run, and searches for its canaries.
func (v *verdict) judge(l look, leases *leaseLog, bag *diag.Bag) {
	refs := v.run.AssertRefs()
	for _, c := range v.run.NoLeak {
		maps.Copy(refs, testfile.RefsOf(c.Expr))
	}
	names := v.run.names(refs)
	names["output"], names["lease"] = l.outputs(), leases.object(l.frame.Program())
	for _, a := range v.run.Asserts {
		var reported diag.Bag
		result := l.frame.Holds(frame.Assertion{Condition: a, Names: names, Source: v.x.suite.source}, l.face, &reported)
		if result.Status == state.Fail {
			v.run.Failed++
			v.run.Messages = append(v.run.Messages, result.Message)
		}
		bag.Move(&reported)
	}
	reported := slices.DeleteFunc(bag.List(), func(d diag.Diagnostic) bool { return v.expects(d) != "" })
	v.x.suite.leaks(v.run, l, names, reported, bag)
}

// asserted lists the names that assertions may use in addition to the declarations of the module.
var asserted = []string{"run", "output", "lease"}

// sound reports whether the assertions and canaries of a run are valid. If not, it adds errors. It is called before the
// plan, so that a run with an invalid assertion creates no objects.
func sound(r *Run, p *program.Program, bag *diag.Bag) bool {
	ok := true
	for _, a := range r.Asserts {
		_, test := p.Root().Expression(a.Condition, program.AllowedRefs{Names: asserted}, "", bag)
		_, message := p.Root().Expression(a.Message, program.AllowedRefs{Names: asserted}, "", bag)
		ok = test && message && ok && leased(testfile.LeasesOf(a.Condition), p, bag) && leased(testfile.LeasesOf(a.Message), p, bag)
	}
	refs := r.AssertRefs()
	for _, c := range r.NoLeak {
		_, good := p.Root().Expression(c.Expr, program.AllowedRefs{Names: asserted}, "", bag)
		ok = good && ok
		maps.Copy(refs, testfile.RefsOf(c.Expr))
	}
	return outputsDeclared(refs, p.Root().Unit.Module, bag) && ok
}

// outputsDeclared reports an error for each reference to an output that the module under test does not declare. Without
// this check, try and can would hide a misspelt name. It returns false if it reported any.
func outputsDeclared(refs testfile.Refs, m *config.Module, bag *diag.Bag) bool {
	ok := true
	for _, ref := range slices.SortedFunc(maps.Keys(refs), func(a, b testfile.Ref) int { return strings.Compare(a.Name, b.Name) }) {
		if ref.Root != "output" || ref.Name == "" || m.Outputs[ref.Name] != nil || m.Unreadable() {
			continue
		}
		ok = false
		bag.Add(diag.Errorf("Reference to undeclared output value", "An output value with the name %q has not been declared.%s", ref.Name, diag.DidYouMean(ref.Name, slices.Collect(maps.Keys(m.Outputs)))).At(refs[ref]))
	}
	return ok
}

// leased reports an error for each reference to a lease of an ephemeral resource that the module under test does not
// declare. It returns false if it reported any.
func leased(list []testfile.Lease, p *program.Program, bag *diag.Bag) bool {
	ok := true
	for _, l := range list {
		if _, is := p.Resource(l.Resource); is {
			continue
		}
		ok = false
		var declared []string
		for name := range p.Root().Unit.Module.Resources {
			declared = append(declared, name.In(addr.Module{}).String())
		}
		bag.Add(diag.Errorf("Reference to undeclared resource", "The module under test declares no %s, so it has no lease.%s", l.Resource, diag.DidYouMean(l.Resource.String(), declared)).At(l.Range))
	}
	return ok
}

// assertionFailed is the title of an assertion that does not hold.
const assertionFailed = "Test assertion failed"

// close sets the status of the run and its diagnostics. The diagnostics do not contain expected failures.
func (v *verdict) close(bag *diag.Bag) {
	r := v.run
	r.Status = Pass
	seen := map[string]bool{}
	cameThrough := v.applied || r.Plan // the run has reached its last step
	for _, d := range bag.List() {
		expected := v.expects(d)
		if expected != "" {
			seen[expected] = true
			if cameThrough {
				continue
			}
			if d.Severity == diag.Error {
				r.Diags = append(r.Diags, v.tooEarly(d.Unmet, expected))
			}
		}
		if cameThrough && d.Eased {
			d.Severity = diag.Error // count a failed check block as an error, although the engine only warns about it
		}
		if at, ok := v.given[strings.TrimPrefix(d.Unmet, "var.")]; ok && strings.HasPrefix(d.Unmet, "var.") {
			d = d.At(at.Range)
		}
		r.Diags = append(r.Diags, d)
		switch {
		case d.Severity != diag.Error:
		case d.Summary == assertionFailed || d.Summary == leaked:
			r.Status = max(r.Status, Fail)
		default:
			r.Status = Error
		}
	}
	for _, e := range r.Expected {
		if r.Status != Error && !seen[e.Text] {
			r.Diags = append(r.Diags, diag.Errorf("Missing expected failure", "The checkable object, %s, was expected to report an error but did not.%s", e.Text, v.undeclared(e)).At(e.Range))
			r.Status = Fail
		}
	}
}

// undeclared returns a sentence for messages if the module does not declare the object of an entry of expect_failures.
// Otherwise it returns "".
func (v *verdict) undeclared(e config.Reference) string {
	if v.module == nil {
		return ""
	}
	var names []string
	for _, list := range []struct {
		prefix string
		names  iter.Seq[string]
	}{{"var.", maps.Keys(v.module.Variables)}, {"output.", maps.Keys(v.module.Outputs)}, {"check.", maps.Keys(v.module.Checks)}} {
		for name := range list.names {
			names = append(names, list.prefix+name)
		}
	}
	for name := range v.module.Resources {
		names = append(names, name.In(addr.Module{}).String())
	}
	name, _, _ := strings.Cut(e.Text, "[")
	if slices.Contains(names, name) {
		return ""
	}
	return " The module under test declares no such object." + diag.DidYouMean(name, names)
}

// expects returns the entry of expect_failures that a diagnostic matches, or "" if it matches no entry.
func (v *verdict) expects(d diag.Diagnostic) string {
	if d.Unmet == "" || d.Severity != diag.Error && !d.Eased { // the diagnostic is not a failed condition; in a refresh-only plan, failed conditions are warnings
		return ""
	}
	i := slices.IndexFunc(v.run.Expected, func(e config.Reference) bool {
		return e.Text == d.Unmet || strings.HasPrefix(d.Unmet, e.Text+"[")
	})
	if i < 0 {
		return ""
	}
	return v.run.Expected[i].Text
}

// onlyExpected reports whether the run has reached its last step and all of its errors were expected.
func (v *verdict) onlyExpected(bag *diag.Bag) bool {
	return (v.applied || v.run.Plan) && !slices.ContainsFunc(bag.List(), func(d diag.Diagnostic) bool {
		return d.Severity == diag.Error && v.expects(d) == ""
	})
}

// tooEarly returns the warning that an expected failure occurred during planning, so that the apply could not start.
// what and expected are the object and its entry in expect_failures.
func (v *verdict) tooEarly(what, expected string) diag.Diagnostic {
	i := slices.IndexFunc(v.run.Expected, func(e config.Reference) bool { return e.Text == expected })
	return diag.Warningf("Expected failure while planning", "The condition of %s failed during plan, as expected, so the apply could not run. Set command = plan in the run block.", what).At(v.run.Expected[i].Range)
}
