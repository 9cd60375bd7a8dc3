package config

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write what comes out into the golden files")

// TestLoadGolden loads the cases in the archives of testdata/load. Each case is a directory with a configuration, and a
// file "want" with the expected messages. Cases are loaded as trees with local module sources.
func TestLoadGolden(t *testing.T) {
	archives, err := filepath.Glob("testdata/load/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) { goldenArchive(t, path) })
	}
}

func goldenArchive(t *testing.T, path string) {
	ar, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range cases(ar) {
		got[c.name] = c.run()
		if *update {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, got[c.name]); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
	if *update {
		if err := os.WriteFile(path, txtar.Format(updated(ar, got)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

type goldenCase struct {
	name, want string
	files      Memory
}

func cases(ar *txtar.Archive) []*goldenCase {
	var out []*goldenCase
	for _, f := range ar.Files {
		name, file, _ := strings.Cut(f.Name, "/")
		if len(out) == 0 || out[len(out)-1].name != name {
			out = append(out, &goldenCase{name: name, files: Memory{}})
		}
		c := out[len(out)-1]
		if file == "want" {
			c.want = string(f.Data)
			continue
		}
		c.files[file] = f.Data
	}
	return out
}

func updated(ar *txtar.Archive, got map[string]string) *txtar.Archive {
	out := &txtar.Archive{Comment: ar.Comment}
	for i, f := range ar.Files {
		name, file, _ := strings.Cut(f.Name, "/")
		if file != "want" {
			out.Files = append(out.Files, f)
		}
		last := i+1 == len(ar.Files) || !strings.HasPrefix(ar.Files[i+1].Name, name+"/")
		if last {
			out.Files = append(out.Files, txtar.File{Name: name + "/want", Data: []byte(got[name])})
		}
	}
	return out
}

func (c *goldenCase) run() string {
	var bag diag.Bag
	o := Options{Files: c.files, Version: "1.12.0"}
	_, ok := LoadTree(".", o, localSources(c.files), &bag)
	return render(&bag, ok)
}

// localSources returns a Resolve for calls whose source is a constant path.
func localSources(files Files) Resolve {
	return func(_ addr.Module, call *Call, parent *Node, bag *diag.Bag) (string, string, string, bool) {
		v, d := constant(call.Source, limits.Limits{}.Filled())
		if d != nil {
			return "", "", "", true
		}
		src := v.AsString()
		return files.Join(parent.Module.Dir, src), src, "", true
	}
}

// render returns the messages of a bag in the form of the golden files.
func render(bag *diag.Bag, ok bool) string {
	var b strings.Builder
	for _, d := range bag.List() {
		at := "-"
		if d.Subject != nil {
			at = d.Subject.String()
		}
		fmt.Fprintf(&b, "%s %s\n  %s\n  %s\n", d.Severity, at, d.Summary, strings.ReplaceAll(d.Detail, "\n", "\n  "))
		for _, r := range d.Related {
			fmt.Fprintf(&b, "  %s: %s\n", r.Note, r.Range)
		}
	}
	if b.Len() == 0 && ok {
		return "ok\n"
	}
	return b.String()
}

func TestGoldenNamesAreUnique(t *testing.T) {
	archives, _ := filepath.Glob("testdata/load/*.txtar")
	for _, path := range archives {
		ar, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, c := range cases(ar) {
			names = append(names, c.name)
		}
		slices.Sort(names)
		if n := len(slices.Compact(slices.Clone(names))); n != len(names) {
			t.Errorf("%s: a case is in two places", path)
		}
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
