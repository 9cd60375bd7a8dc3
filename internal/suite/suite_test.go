package suite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/config/testfile"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/zclconf/go-cty/cty"
)

// recorded records the calls of a reporter.
type recorded struct{ lines []string }

func (r *recorded) record(format string, a ...any) {
	r.lines = append(r.lines, fmt.Sprintf(format, a...))
}

func (r *recorded) Found(files []*File)      { r.record("found %d", len(files)) }
func (r *recorded) File(f *File, p Progress) { r.record("%s %s %s", f.Name, p, f.Status) }
func (r *recorded) Run(run *Run, p Progress) { r.record("%s %s %s", run.Name, p, run.Status) }
func (r *recorded) Still(run *Run, p Progress, since time.Duration) {
	r.record("%s %s yet %t", run.Name, p, since > 0)
}
func (r *recorded) Left(l *Left) { r.record("left %s/%s %d", l.File.Name, l.Run.Name, len(l.Objects)) }
func (r *recorded) Summary(s Summary) {
	r.record("%s %d %d %d %d", s.Status, s.Passed, s.Failed, s.Errored, s.Skipped)
}
func (r *recorded) without(word string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(r.lines), func(s string) bool { return strings.Contains(s, word) }), ", ")
}

// files parses a test file.
func files(t *testing.T, text string) []*testfile.File {
	t.Helper()
	var bag diag.Bag
	list, _ := testfile.Read([]string{".", "tests"}, config.Options{Files: config.Memory{"a.tftest.hcl": []byte(text)}}, &diag.Sources{}, &bag)
	if bag.HasErrors() {
		t.Fatal(bag.List())
	}
	return list
}

// unloadable returns a suite whose runs all test a module that cannot be loaded, so that each run ends in an error. It
// calls started first.
func unloadable(t *testing.T, text string, r Reporter, started func(run string)) *Suite {
	return &Suite{
		Files: files(t, text), Reporter: r, Clock: Clock{Now: time.Now}, Cleanup: context.Background(), AtOnce: 10, Traces: Traces{Logged: func() string { return "" }},
		Root: &config.Tree{Root: &config.Node{Module: &config.Module{}}}, Modules: missing{started: started},
	}
}

// missing fails to load any module.
type missing struct {
	Modules
	started func(run string)
}

func (m missing) LoadModule(key string, _ *config.Call, bag *diag.Bag) (*config.Tree, bool) {
	m.started(key[strings.LastIndex(key, ".")+1:])
	bag.Add(diag.Errorf("Not there", "It is not there."))
	return nil, false
}

const module = "\n  module {\n    source = \"./m\"\n  }\n}\n"

// An error ends the file. The runs after it are skipped, with the failed run as the reason.
func TestErrorEndsFile(t *testing.T) {
	r := &recorded{}
	s := unloadable(t, "run \"a\" {"+module+"run \"b\" {"+module+"run \"c\" {"+module, r, func(string) {})
	sum := s.Run(context.Background())
	if got := r.without("starting"); got != "found 1, a complete error, b complete skip, c complete skip, a.tftest.hcl teardown error, a.tftest.hcl complete error, error 0 0 1 2" || sum.Status != Error {
		t.Errorf("%s, %v", got, sum)
	}
}

// TestStill checks that a long run is reported repeatedly, and not after its end.
func TestStill(t *testing.T) {
	r := &recorded{}
	s := unloadable(t, "run \"a\" {"+module, r, func(string) { time.Sleep(50 * time.Millisecond) }) // much longer than the interval of the reports
	s.Clock.Beat = time.Millisecond
	s.Run(context.Background())
	if got := strings.Join(slices.Compact(r.lines), ", "); !strings.HasPrefix(got, "found 1, a.tftest.hcl starting pending, a starting pending, a running yet true, a complete error, a.tftest.hcl teardown error") {
		t.Error(got)
	}
}

// Parallel runs are reported in the order of the file, whenever they end. An error skips only the runs that wait for
// the failed run.
func TestBeside(t *testing.T) {
	r := &recorded{}
	s := unloadable(t, `test {
  parallel = true
}
run "a" {
  state_key = "a"`+module+`run "b" {
  state_key = "b"`+module+`run "c" {
  state_key = "a"`+module, r, func(string) {})
	s.Run(context.Background())
	want := "found 1, a complete error, b complete error, c complete skip, a.tftest.hcl teardown error, a.tftest.hcl complete error, error 0 0 2 1"
	if got := r.without("starting"); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	r = &recorded{}
	f := &File{}
	for _, run := range s.Files[0].Runs {
		f.Runs = append(f.Runs, &Run{Run: run, Status: Pass})
	}
	o := &results{x: &execution{suite: &Suite{Reporter: r}, file: f}}
	o.end(f.Runs[2])
	o.end(f.Runs[0])
	r.record("then")
	o.end(f.Runs[1])
	if got := r.without("-"); got != "a complete pass, then, b complete pass, c complete pass" || f.Status != Pass {
		t.Error(got, f.Status)
	}
}

// After an interrupt, all runs are skipped, without a run as the reason.
func TestInterruptSkips(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := &recorded{}
	s := unloadable(t, "run \"a\" {"+module+"run \"b\" {"+module, r, func(run string) { t.Errorf("%s is begun", run) })
	if sum := s.Run(ctx); sum != (Summary{Status: Skip, Skipped: 2}) && sum != (Summary{Status: Pass, Skipped: 2}) {
		t.Errorf("%+v", sum)
	}
	if got := strings.Join(r.lines, ", "); !strings.Contains(got, "a complete skip, b complete skip") {
		t.Error(got)
	}
	run := &Run{after: []*Run{{Status: Skip}}}
	if because, is := run.skipped(context.Background()); because != nil || !is {
		t.Error(because, is)
	}
}

// The verdict removes expected failures. A false assertion is a failure, each other error is an error.
func TestVerdict(t *testing.T) {
	unmet := func(what string, sev func(string, string, ...any) diag.Diagnostic) diag.Diagnostic {
		d := sev("Invalid value for variable", "It is wrong: %s.", what)
		d.Unmet, d.Eased = what, d.Severity == diag.Warning
		return d
	}
	expected := []config.Reference{{Text: "var.a"}, {Text: "terraform_data.t"}}
	for name, c := range map[string]struct {
		plan, applied bool
		diags         []diag.Diagnostic
		want          Status
		titles        string
	}{
		"nothing":      {true, false, nil, Fail, "Missing expected failure, Missing expected failure"},
		"all expected": {true, false, []diag.Diagnostic{unmet("var.a", diag.Errorf), unmet(`terraform_data.t["k"]`, diag.Errorf)}, Pass, ""},
		"too early":    {false, false, []diag.Diagnostic{unmet("var.a", diag.Errorf)}, Error, "Expected failure while planning, Invalid value for variable"},
		"a check":      {true, false, []diag.Diagnostic{unmet("check.c", diag.Warningf)}, Error, "Invalid value for variable"},
		"assertion":    {true, false, []diag.Diagnostic{diag.Errorf("Test assertion failed", "No.")}, Fail, "Test assertion failed, Missing expected failure, Missing expected failure"},
		"a warning":    {false, true, []diag.Diagnostic{diag.Warningf("W", "w."), unmet("var.a", diag.Errorf), unmet("terraform_data.t", diag.Errorf)}, Pass, "W"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Run{Run: &testfile.Run{Plan: c.plan, Expected: expected}}
			v := &verdict{run: r, applied: c.applied, given: map[string]frame.Given{}}
			var bag diag.Bag
			bag.Add(c.diags...)
			v.close(&bag)
			var titles []string
			for _, d := range r.Diags {
				titles = append(titles, d.Summary)
			}
			if got := strings.Join(titles, ", "); r.Status != c.want || got != c.titles {
				t.Errorf("%s: %s, want %s: %s", r.Status, got, c.want, c.titles)
			}
		})
	}
}

// The state during an apply contains the changes recorded so far.
func TestKeptNow(t *testing.T) {
	k := &kept{snapshot: &state.Snapshot{}}
	object := func(name string) addr.Object {
		return addr.Object{Instance: addr.Instance{Mode: addr.Managed, Type: "terraform_data", Name: name}}
	}
	var journaled journal.Journal = &noting{kept: k}
	op, err := journaled.Intent(journal.Intent{})
	if err != nil {
		t.Fatal(err)
	}
	done := false
	journaled.Later(func(error) { done = true }, op, journal.Change{Object: object("a"), Entry: &state.Entry{}})
	if now := objects(k.now()); !done || len(now) != 1 || len(objects(k.snapshot)) != 0 {
		t.Errorf("%v %v", done, now)
	}
	k.set(&state.Snapshot{})
	if now := objects(k.now()); len(now) != 0 {
		t.Error(now)
	}
}

// A value of a variables block cannot refer to another value of the block: it would get the default of the variable.
func TestValuesOfOneBlockAreApart(t *testing.T) {
	f := files(t, "variables {\n  v = 2\n  w = [var.v, var.other, path.module]\n}\nrun \"a\" {}")[0]
	refs := testfile.RefsOf(f.Variables["w"].Expr)
	var bag diag.Bag
	if apart(refs, nil, f.Variables, &bag) || bag.Len() != 1 || bag.List()[0].Summary != "Reference to unavailable variable" {
		t.Error(bag.List())
	}
	if bag = (diag.Bag{}); !apart(refs, map[string]frame.Given{"v": {}}, f.Variables, &bag) || bag.Len() != 0 {
		t.Error("a variable that is also set outside of the block", bag.List())
	}
}

// used returns the states in the order of their last use, without states that no run changed.
func TestUsed(t *testing.T) {
	f := &File{Runs: []*Run{{}, {}, {}}}
	x := &execution{suite: &Suite{}, file: f, states: map[string]*kept{"a": {}, "b": {by: f.Runs[2]}, "c": {by: f.Runs[0]}, "d": {by: f.Runs[1]}}}
	var at []int
	for _, k := range x.used() {
		at = append(at, slices.Index(f.Runs, k.by))
	}
	if !slices.Equal(at, []int{0, 1, 2}) {
		t.Error(at)
	}
}

// An override of the run takes precedence over an override of the file, and an instance key restricts an override.
func TestOutputsOf(t *testing.T) {
	target := func(text string) addr.Target {
		out, err := addr.ParseTarget(text)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	find := outputsOf([]replaced{{target(`module.m["a"]`), map[string]cty.Value{"o": cty.True}}, {target("module.m"), nil}})
	at := func(key string) addr.ModuleInstance { return addr.ModuleInstance{}.Child("m", addr.StringKey(key)) }
	if v, is := find(at("a")); !is || v["o"] != cty.True {
		t.Error(v, is)
	}
	if v, is := find(at("b")); !is || v != nil {
		t.Error(v, is)
	}
	if _, is := find(at("a").Child("n", addr.NoKey)); is {
		t.Error("a module inside has outputs of its own")
	}
	if outputsOf(nil) != nil {
		t.Error("nothing replaces something")
	}
}
