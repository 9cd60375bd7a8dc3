package suite

import (
	"context"

	"github.com/lethe-iac/lethe/internal/config/testfile"
)

// Run runs all files and returns the summary. When ctx ends, Run starts no more runs, but still does the cleanups.
func (s *Suite) Run(ctx context.Context) Summary {
	s.programs.reset(s.Root)
	var files []*File
	for _, f := range s.Files {
		file := &File{File: f}
		for _, r := range f.Runs {
			file.Runs = append(file.Runs, &Run{Run: r, File: file})
		}
		files = append(files, file)
	}
	s.Reporter.Found(files)
	sum := Summary{Status: Pass}
	for _, f := range files {
		s.file(ctx, f)
		sum.Status = max(sum.Status, f.Status)
		for _, r := range f.Runs {
			switch r.Status {
			case Pass:
				sum.Passed++
			case Fail:
				sum.Failed++
			case Error:
				sum.Errored++
			default:
				sum.Skipped++
			}
		}
	}
	s.Reporter.Summary(sum)
	return sum
}

// Abandon reports the objects that exist now, and writes the states that contain them. The caller must end the process
// at once afterwards.
func (s *Suite) Abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.abandon != nil {
		s.abandon()
	}
}

// begin makes x the file about which Abandon reports.
func (s *Suite) begin(x *execution) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.abandon = x.abandon
}

// file executes the runs of a file and destroys their objects.
func (s *Suite) file(ctx context.Context, f *File) {
	x := s.execution(f)
	s.begin(x)
	s.Reporter.File(f, Starting)
	x.runs(ctx)
	s.Reporter.File(f, TearingDown)
	x.cleanup()
	if f.Status == Pending {
		f.Status = Pass
		if len(f.Runs) > 0 {
			f.Status = Skip
		}
	}
	s.Reporter.File(f, Complete)
}

// execution returns the execution of a file, which has not begun.
func (s *Suite) execution(f *File) *execution {
	x := &execution{suite: s, file: f, given: s.givenTo(f), states: map[string]*kept{}, asserted: map[string]bool{}}
	for _, r := range f.Runs {
		note(x.asserted, r.AssertRefs())
		for _, c := range r.NoLeak {
			note(x.asserted, testfile.RefsOf(c.Expr))
		}
	}
	return x
}
