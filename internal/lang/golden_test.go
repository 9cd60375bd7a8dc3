package lang

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lang/vet"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden runs the golden files. A golden file contains a configuration, a line "==== STAGE", and the output of that
// stage:
//
//	compile, check   the diagnostics
//	plan, apply      the diagnostics of a walk with unknown or known computed attributes
//	refs             every declaration with its references
//
// A file holds several cases. Each begins with a line "#### DESCRIPTION".
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { goldenFile(t, file) })
	}
}

func goldenFile(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for i, part := range strings.Split(string(text), "#### ") {
		if i == 0 {
			out.WriteString(part)
			continue
		}
		title, rest, _ := strings.Cut(part, "\n")
		config, after, ok := strings.Cut(rest, "==== ")
		if !ok {
			t.Fatalf("%s: %s: no stage", file, title)
		}
		stage, want, _ := strings.Cut(after, "\n")
		got := ""
		t.Run(title, func(t *testing.T) {
			got = goldenCase(t, config, stage)
			if !*update {
				if d := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(got)); d != "" {
					t.Errorf("%s (-want +got):\n%s", title, d)
				}
			}
		})
		out.WriteString("#### " + title + "\n" + config + "==== " + stage + "\n" + strings.TrimRight(got, "\n") + "\n\n")
	}
	if *update {
		if err := os.WriteFile(file, []byte(strings.TrimRight(out.String(), "\n")+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func goldenCase(t *testing.T, config, stage string) string {
	var bag diag.Bag
	p, ok := Compile(load(t, config), &bag)
	switch {
	case stage == "compile":
		return verdict(ok, &bag)
	case stage == "refs":
		return showRefs(p)
	}
	ok = vet.Check(p, cached.Of, vet.CheckOptions{}, &bag) && ok
	switch {
	case stage == "check":
		return verdict(ok, &bag)
	case bag.HasErrors():
		return "check failed\n" + show(&bag)
	}
	run(p, frame.Options{Workspace: "default"}, stage == "apply", &bag)
	return verdict(true, &bag)
}

func verdict(ok bool, bag *diag.Bag) string {
	out := show(bag)
	switch {
	case ok == bag.HasErrors() && !ok:
		out += "NOT OK WITHOUT AN ERROR\n"
	case out == "":
		out = "fine\n"
	}
	return out
}

// showRefs formats the graph of references.
func showRefs(p *program.Program) string {
	var b strings.Builder
	for _, d := range p.Decls() {
		b.WriteString(d.Kind.String() + " " + d.String() + "\n")
		for _, r := range p.Refs(d.ID) {
			to := p.Decls()[r.To]
			b.WriteString("  " + to.Kind.String() + " " + to.String() + " " + uses(r.Use) + hint(r) + "\n")
		}
	}
	return b.String()
}

func uses(u program.Use) string {
	names := []string{"value", "repeat", "depends", "module", "provider", "condition", "trigger", "lifecycle", "provision", "import", "function"}
	var out []string
	for i, n := range names {
		if u&(1<<i) != 0 {
			out = append(out, n)
		}
	}
	return strings.Join(out, "+")
}

func hint(r program.Ref) string {
	switch r.Key {
	case program.Same:
		return " same"
	case program.Fixed:
		return " " + r.Fixed.String()
	case program.Single:
		return " single"
	}
	return ""
}
