// Package testcmd has the command test, which runs test files (package suite).
package testcmd

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/project"
	"github.com/lethe-iac/lethe/internal/config/testfile"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/state/disk"
	"github.com/lethe-iac/lethe/internal/suite"
	"github.com/lethe-iac/lethe/internal/view"
	"github.com/lethe-iac/lethe/internal/view/testview"
)

// Test is `test`.
var Test = &base.Command{
	Name: "test", Stream: true, Makes: true, Short: "Execute integration tests for Lethe modules",
	Instead: "To run the tests of one file, use the option -filter; to work in another directory, the global option -chdir.",
	Long: `Runs the test files of the current configuration: files whose names end in
.tftest.hcl or .tofutest.hcl, in this directory and in the directory "tests".
The runs of a file are planned or applied in their order, and what they assert
is checked.

This makes real infrastructure, and destroys it when a file is over. What
cannot be destroyed is listed, and its state is written to
errored_test.tfstate. That, and what runs with skip_cleanup made, stays until
"lethe test cleanup".`,
	Examples: [][2]string{
		{"lethe test", "Run all test files"},
		{"lethe test -filter=tests/names.tftest.hcl -verbose", "Run one of them, and show its plans and states"},
		{"lethe test -junit-xml=report.xml", "Write a report for a CI system"},
	},
	Setup: base.Flags(func(c *base.Call, f *flags) {
		c.Flags.Var(&f.filter, "filter", "Run only this test `file`. May be given many times.")
		f.TestsFlag(c)
		c.Flags.BoolVar(&f.verbose, "verbose", false, "Print the plan or the state of each run.")
		c.Flags.StringVar(&f.junit, "junit-xml", "", "Write a report in the form of JUnit to this `file`.")
		c.Flags.StringVar(&f.cloud, "cloud-run", "", "Not supported: tests run on this machine. The `source` of a module.")
		c.Flags.IntVar(&f.atOnce, "run-parallelism", 10, "How `many` runs may run at once, where their file lets them.")
		c.Flags.IntVar(&f.Parallelism, "parallelism", 10, "How `many` provider calls may run at once.")
		f.VarFlags(c)
		f.WarningFlags(c)
		c.SensitiveFlag()
		c.JSONFlag()
	}, run),
}

type flags struct {
	project.Options
	filter  base.List
	verbose bool
	junit   string
	cloud   string
	atOnce  int
	repair  bool // of cleanup
}

func run(ctx context.Context, c *base.Call, f *flags) int {
	f.Input = false // a test asks nothing
	if f.atOnce < 1 {
		c.Bag.Add(diag.Errorf("Invalid parallelism value", "The option -run-parallelism takes a positive number, and not %d.", f.atOnce))
		return c.UI.Fail()
	}
	if f.cloud != "" {
		c.Bag.Add(diag.Errorf("Remote tests are not supported", "Tests run on this machine: -cloud-run is not supported."))
		return c.UI.Fail()
	}
	if err := reportable(c.Path(f.junit)); f.junit != "" && err != nil {
		c.Bag.Add(unwritten(f.junit, err))
		return c.UI.Fail()
	}
	p, ok := project.Open(c, &f.Options)
	if !ok {
		return c.UI.Fail()
	}
	kept, ok := p.Tests().Kept()
	if meant := slices.DeleteFunc(kept, func(k suite.Kept) bool { return k.Failed }); !ok || len(meant) > 0 {
		if ok {
			c.Bag.Add(diag.Errorf("Earlier tests left something", "The objects that %s/%s made in an earlier test still exist, because of skip_cleanup, and this test would make them again. To destroy them first, run: lethe test cleanup", meant[0].File, meant[0].Run))
		}
		return c.UI.Fail()
	}
	s, ok := prepare(ctx, p, f)
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
	undone := sum.Skipped > 0 || sum.Status == suite.Error // an interrupt while tearing down ends nothing else
	if undone && c.CutShort() || sum.Status > suite.Pass {
		return c.UI.Fail()
	}
	return c.UI.Done(base.ExitOK)
}

// reportable says why no report can be written to a file, as far as that shows before there is one.
func reportable(file string) error {
	if at, err := os.Stat(file); err == nil && at.IsDir() {
		return syscall.EISDIR
	}
	_, err := os.Stat(filepath.Dir(file))
	return err
}

func unwritten(file string, err error) diag.Diagnostic {
	return diag.Errorf("Failed to write report", "The report cannot be written to %s: %s.", file, disk.Reason(err))
}

// collector keeps the files for the report.
type collector struct {
	suite.Reporter
	files []*suite.File
}

// Found implements suite.Reporter.
func (c *collector) Found(files []*suite.File) {
	c.files = files
	c.Reporter.Found(files)
}

func options(p *project.Project, f *flags) testview.Options {
	return testview.Options{Options: p.Call.ViewOptions(), Verbose: f.verbose, Schemas: p.Schemas(), Version: base.Version}
}

// reporter shows what happens.
func reporter(p *project.Project, f *flags) suite.Reporter {
	if j, ok := p.UI.View.(*view.JSON); ok {
		return &testview.JSON{O: options(p, f), Out: j}
	}
	return &testview.Text{O: options(p, f), Out: p.UI.View.(*view.Human)}
}

// prepare reads the configuration and the test files, and reports all that is wrong with them: then nothing is run.
func prepare(ctx context.Context, p *project.Project, f *flags) (*suite.Suite, bool) {
	p.Tests().Expect()
	loaded := p.Load()
	files, chosen := filtered(p, f.filter, p.Tests().Read())
	if !loaded || p.Bag.HasErrors() || !chosen || !p.Tests().Load(files) {
		return nil, false
	}
	given, ok := p.Tests().Collect(files)
	if !ok || !p.Tests().CheckBackends(files) || !p.Compile(ctx, vet.CheckOptions{Called: true}) {
		return nil, false
	}
	p.Applying = true
	tests, log := p.Tests(), &logged{}
	p.Call.Heard = log.add
	return &suite.Suite{
		Files: files, Root: p.Tree, Given: given, Engine: p.Engine, Now: p.Call.Now, Sources: p.Call.Sources,
		Cleanup: p.Call.Stops.Abandon, Load: tests.LoadModule, Compile: tests.Compile, Options: tests.FrameOptions,
		Begin: tests.Begin, Keep: tests.Keep, Forget: tests.Forget, Open: tests.Open, AtOnce: f.atOnce, Beat: 2 * time.Second, Logged: log.take,
		Documents: func(r *suite.Run, said []diag.Diagnostic) []suite.Document {
			return testview.Documents(r, said, options(p, f))
		},
	}, true
}

// logged is what is logged.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.WriteString(line + "\n")
}

func (l *logged) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.text.String()
	l.text.Reset()
	return text
}

// filtered are the files that are to be run, all of them without a filter.
func filtered(p *project.Project, filter []string, files []*testfile.File) ([]*testfile.File, bool) {
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
		p.Bag.Add(diag.Errorf("Unknown test file", "There is no test file %s, in this directory or in that of tests.%s", name, diag.Meant(diag.Suggest(name, names))))
	}
	return out, len(left) == 0
}
