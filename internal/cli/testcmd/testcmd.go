// Package testcmd defines the commands test and test cleanup. They run test files, and destroy the objects that tests
// left behind. Package suite runs the tests.
package testcmd

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/session"
	"github.com/lethe-iac/lethe/internal/cli/timed"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/config/testfile"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/suite"
	"github.com/lethe-iac/lethe/internal/view"
	"github.com/lethe-iac/lethe/internal/view/testview"
)

// Test is the command `test`.
var Test = &base.Command{
	Name: "test", Stream: true, Makes: true, Short: "Execute integration tests for Lethe modules",
	Instead: "To run the tests of one file, use -filter. To work in another directory, use the global option -chdir.",
	Long: `Runs the test files of the current configuration: files whose names end in
.tftest.hcl or .tofutest.hcl, in this directory and in the directory "tests".
The command plans or applies the runs of a file in order, and checks their
assertions. A run with command = apply applies all rounds without a question, and
checks its assertions after the last round. The exit code is 1 if a run fails or
its objects cannot be destroyed.

Tests create real infrastructure and destroy it at the end of each file. If an
object cannot be destroyed, the command lists it and writes its state to
errored_test.tfstate. To destroy these objects, and the objects of runs with
skip_cleanup, run "lethe test cleanup".`,
	Examples: [][2]string{
		{"lethe test", "Run all test files"},
		{"lethe test -filter=tests/names.tftest.hcl -verbose", "Run one test file, and show its plans and states"},
		{"lethe test -junit-xml=report.xml", "Write a report for a CI system"},
	},
	Setup: base.Flags(func(c *base.Call, f *flags) {
		c.Flags.Var(&f.filter, "filter", "Run only this test `file`. May be given many times.")
		f.TestsFlag(c)
		c.Flags.BoolVar(&f.verbose, "verbose", false, "Print the plan or the state of each run.")
		c.Flags.StringVar(&f.junit, "junit-xml", "", "Write a report in JUnit format to this `file`.")
		c.Flags.StringVar(&f.cloud, "cloud-run", "", "Not supported: tests run on this machine. The value is the `source` of a module.")
		c.Flags.IntVar(&f.atOnce, "run-parallelism", 10, "How `many` runs may run at once, if their file allows it.")
		c.Flags.IntVar(&f.Parallelism, "parallelism", 10, "How `many` provider calls may run at once.")
		timed.Flag(c, &f.Timings)
		f.VarFlags(c)
		f.WarningFlags(c)
		c.SensitiveFlag()
		c.JSONFlag()
	}, run),
}

type flags struct {
	workdir.Options
	filter  base.List // the test files to run; empty: all
	verbose bool
	junit   string // the file of -junit-xml; "" without it
	cloud   string // -cloud-run, which is not supported
	atOnce  int    // -run-parallelism: the number of runs at the same time
	repair  bool   // -repair of test cleanup: destroy only objects that tests failed to destroy
}

func run(ctx context.Context, c *base.Call, f *flags) int {
	f.Input = false // a test must not ask questions
	if f.atOnce < 1 {
		c.Bag.Add(diag.Errorf("Invalid parallelism value", "The option -run-parallelism takes a positive number, not %d.", f.atOnce))
		return c.UI.Fail()
	}
	if f.cloud != "" {
		c.Bag.Add(diag.Errorf("Remote tests are not supported", "Tests run on this machine: -cloud-run is not supported."))
		return c.UI.Fail()
	}
	if err := disk.MayReplace(c.Path(f.junit)); f.junit != "" && err != nil {
		c.Bag.Add(unwritten(f.junit, err))
		return c.UI.Fail()
	}
	p, ok := session.Open(c, &f.Options, operation.Test)
	if !ok {
		return c.UI.Fail()
	}
	t := newTests(p)
	kept, ok := t.Kept()
	if meant := slices.DeleteFunc(kept, func(k suite.Kept) bool { return k.Failed }); !ok || len(meant) > 0 {
		if ok {
			c.Bag.Add(diag.Errorf("Earlier tests left something", "The objects that %s/%s made in an earlier test still exist because of skip_cleanup, and this test would create them again. To destroy them first, run: lethe test cleanup", meant[0].File, meant[0].Run))
		}
		return c.UI.Fail()
	}
	s, ok := prepare(ctx, t, f)
	if !ok {
		return c.UI.Fail()
	}
	c.UI.Diagnostics(c.Bag.List())
	c.Bag.Clear()
	collected := &collector{Reporter: reporter(p, f)}
	s.Reporter = collected
	c.AtOnce(s.Abandon)
	sum := s.Run(ctx)
	if f.junit != "" {
		var b bytes.Buffer
		err := testview.WriteJUnit(&b, collected.files, options(p, f))
		if err == nil {
			err = disk.Replace(c.FS(), c.Path(f.junit), b.Bytes())
		}
		if err != nil {
			c.Bag.Add(unwritten(f.junit, err))
		}
	}
	undone := sum.Skipped > 0 || sum.Status == suite.Error // an interrupt that came during the cleanup at the end, when all tests had run, is no failure
	if undone && c.Interrupted() || sum.Status > suite.Pass {
		return c.UI.Fail()
	}
	return c.UI.Done(base.ExitOK)
}

func unwritten(file string, err error) diag.Diagnostic {
	return diag.Errorf("Failed to write report", "The report cannot be written to %s: %s.", file, disk.Reason(err))
}

// collector forwards the reports of a suite to another reporter, and keeps the test files for the file of -junit-xml.
type collector struct {
	suite.Reporter
	files []*suite.File
}

// Found keeps the files and forwards the report. It implements suite.Reporter.
func (c *collector) Found(files []*suite.File) {
	c.files = files
	c.Reporter.Found(files)
}

func options(s *session.Session, f *flags) testview.Options {
	return testview.Options{Options: s.Dir.Call.ViewOptions(), Verbose: f.verbose, Schemas: s.Schemas(), Version: base.Version}
}

// reporter returns the reporter for the output format of the command: JSON or text.
func reporter(s *session.Session, f *flags) suite.Reporter {
	if j, ok := s.Dir.Call.UI.View.(*view.JSON); ok {
		return &testview.JSON{O: options(s, f), Out: j}
	}
	return &testview.Text{O: options(s, f), Out: s.Dir.Call.UI.View.(*view.Human)}
}

// prepare reads the configuration and the test files, compiles the program, and returns the suite of the files that
// -filter selects. After an error, which it reports, it returns false. Compilation starts only if the files have no
// errors.
func prepare(ctx context.Context, t *tests, f *flags) (*suite.Suite, bool) {
	s, c := t.s, t.s.Dir.Call
	s.Loader.Vars.ExpectTests()
	loaded := s.Loader.Load()
	files, chosen := filtered(&c.Bag, f.filter, s.Loader.ReadTests(&c.Bag))
	if !loaded || c.Bag.HasErrors() || !chosen || !s.Loader.LoadTests(files) {
		return nil, false
	}
	given, ok := t.values(files)
	if !ok || !t.checkBackends(files) || !s.Compile(ctx, vet.CheckOptions{Called: true}) {
		return nil, false
	}
	log := &logged{}
	c.Heard = log.add
	return &suite.Suite{
		Files: files, Root: s.Loader.Tree, Given: given, Engine: s.Engine, Modules: t, States: t, Sources: c.Sources,
		Clock: suite.Clock{Now: c.Now, Beat: 2 * time.Second}, AtOnce: f.atOnce, Cleanup: c.Stops.Abandon,
		Traces: suite.Traces{Logged: log.drain, Documents: func(r *suite.Run, reported []diag.Diagnostic) []suite.Document {
			return testview.Documents(r, reported, options(s, f))
		}},
	}, true
}

// logged collects the lines of Lethe's log until drain returns them.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.WriteString(line + "\n")
}

func (l *logged) drain() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.text.String()
	l.text.Reset()
	return text
}

// filtered returns the test files that the filter names, or all files without a filter. If the filter names an unknown
// file, filtered adds an error and returns false.
func filtered(bag *diag.Bag, filter []string, files []*testfile.File) ([]*testfile.File, bool) {
	if len(filter) == 0 {
		return files, true
	}
	var out []*testfile.File
	left := slices.Clone(filter)
	for _, file := range files {
		if i := slices.IndexFunc(filter, func(s string) bool { return filepath.Clean(s) == file.Name }); i >= 0 {
			out = append(out, file)
			left = slices.DeleteFunc(left, func(s string) bool { return s == filter[i] })
		}
	}
	for _, name := range left {
		var names []string
		for _, file := range files {
			names = append(names, file.Name)
		}
		bag.Add(diag.Errorf("Unknown test file", "Neither this directory nor the directory of tests has a test file %s.%s", name, diag.Meant(diag.Suggest(name, names))))
	}
	return out, len(left) == 0
}
