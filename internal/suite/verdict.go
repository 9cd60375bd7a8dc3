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

// verdict judges a run.
type verdict struct {
	x       *execution
	run     *Run
	applied bool                   // the apply was begun
	given   map[string]frame.Given // to the variables
	module  *config.Module         // under test; nil where the run did not come so far
}

// judge evaluates what has to be true.
func (v *verdict) judge(l look, leases *leaseLog, bag *diag.Bag) {
	refs := v.run.AssertRefs()
	for _, c := range v.run.NoLeak {
		maps.Copy(refs, testfile.RefsOf(c.Expr))
	}
	names := v.run.names(refs)
	names["output"], names["lease"] = l.outputs(), leases.object(l.frame.Program())
	for _, a := range v.run.Asserts {
		var said diag.Bag
		result := l.frame.Holds(frame.Assertion{Condition: a, Names: names, Source: v.x.suite.source}, l.face, &said)
		if result.Status == state.Fail {
			v.run.Failed++
			v.run.Messages = append(v.run.Messages, result.Message)
		}
		bag.Take(&said)
	}
	said := slices.DeleteFunc(bag.List(), func(d diag.Diagnostic) bool { return v.expects(d) != "" })
	v.x.suite.leaks(v.run, l, names, said, bag)
}

// asserted are the names that assertions may use beside the declarations of the module.
var asserted = []string{"run", "output", "lease"}

// sound reports whether what a run asserts can be evaluated at all: nothing is made for one that cannot.
func sound(r *Run, p *program.Program, bag *diag.Bag) bool {
	ok := true
	for _, a := range r.Asserts {
		_, test := p.Root().Expression(a.Condition, program.AllowedRefs{Names: asserted}, "", bag)
		_, message := p.Root().Expression(a.Message, program.AllowedRefs{Names: asserted}, "", bag)
		ok = test && message && ok && leased(testfile.LeasesOf(a.Condition), p, bag) && leased(testfile.LeasesOf(a.Message), p, bag)
	}
	for _, c := range r.NoLeak {
		_, good := p.Root().Expression(c.Expr, program.AllowedRefs{Names: asserted}, "", bag)
		ok = good && ok
	}
	return ok
}

// leased refuses references to leases of ephemeral resources that the module under test does not declare.
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
		bag.Add(diag.Errorf("Reference to undeclared resource", "The module under test declares no %s, the lease of which this is about.%s", l.Resource, diag.DidYouMean(l.Resource.String(), declared)).At(l.Range))
	}
	return ok
}

// assertionFailed is the title of an assertion that does not hold.
const assertionFailed = "Test assertion failed"

// close settles what became of the run: what it has to say, without the failures that were expected, and its status.
func (v *verdict) close(bag *diag.Bag) {
	r := v.run
	r.Status = Pass
	met := map[string]bool{}
	cameThrough := v.applied || r.Plan // to its last step
	for _, d := range bag.List() {
		expected := v.expects(d)
		if expected != "" {
			met[expected] = true
			if cameThrough {
				continue
			}
			if d.Severity == diag.Error {
				r.Diags = append(r.Diags, v.tooEarly(d.Unmet, expected))
			}
		}
		if cameThrough && d.Eased {
			d.Severity = diag.Error // of a check block, which keeps nothing from being done: here it ends the file
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
		if r.Status != Error && !met[e.Text] {
			r.Diags = append(r.Diags, diag.Errorf("Missing expected failure", "The checkable object, %s, was expected to report an error but did not.%s", e.Text, v.undeclared(e)).At(e.Range))
			r.Status = Fail
		}
	}
}

// undeclared says that the module has not what was to fail, if that is so.
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

// expects gives what a run expected to fail that a diagnostic says has failed, "" if it is something else.
func (v *verdict) expects(d diag.Diagnostic) string {
	if d.Unmet == "" || d.Severity != diag.Error && !d.Eased { // a refresh-only plan does not fail
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

// onlyExpected reports whether nothing failed but what was expected to, after the last step of the run.
func (v *verdict) onlyExpected(bag *diag.Bag) bool {
	return (v.applied || v.run.Plan) && !slices.ContainsFunc(bag.List(), func(d diag.Diagnostic) bool {
		return d.Severity == diag.Error && v.expects(d) == ""
	})
}

// tooEarly says that an expected failure came while planning, so that nothing could be applied.
func (v *verdict) tooEarly(what, expected string) diag.Diagnostic {
	i := slices.IndexFunc(v.run.Expected, func(e config.Reference) bool { return e.Text == expected })
	return diag.Warningf("Expected failure while planning", "A custom condition within %s failed during the planning stage and prevented the requested apply operation. While this was an expected failure, the apply operation could not be executed and so the overall test case will be marked as a failure and the original diagnostic included in the test report.", what).At(v.run.Expected[i].Range)
}
