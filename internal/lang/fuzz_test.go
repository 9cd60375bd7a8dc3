package lang

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/limits"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
)

// tight are limits for generated inputs.
var (
	tight = limits.Limits{Instances: 1000, Elements: 10_000, Bytes: 1 << 20, Nesting: 100, Templates: 10}
)

// FuzzEval evaluates expressions in a frame with all kinds of references. Each expression must return a value or a
// diagnostic, and the parts of the value that are not ephemeral must not depend on ephemeral values.
func FuzzEval(f *testing.F) {
	for _, s := range shapes {
		f.Add(strings.ReplaceAll(s, "E", "var.s"))
		f.Add(strings.ReplaceAll(s, "E", "local.obj"))
	}
	for _, s := range []string{"1e999999", "1/0", "-1 % 0", `"${`, "[for", "a.b.c", "null.x", "{}[0]", `regex("(", "a")`, "local.strs[*].x[*]", "each.key", "self", "path.module"} {
		f.Add(s)
	}
	p := check(f, flowConfig)
	var bag diag.Bag
	var frames []*frame.Frame
	for i := range 2 {
		fr, _ := frame.New(p, frame.Options{Variables: secrets(i), Limits: tight}, &bag)
		frames = append(frames, fr)
	}
	validate, _ := frame.New(p, frame.Options{Validate: true, Limits: tight}, &bag)
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > 2000 || strings.Contains(src, "file") { // the fuzzer must not read files of this machine
			return
		}
		e, diags := hclsyntax.ParseExpression([]byte(src), "x.tf", diag.Pos{Line: 1, Column: 1})
		if diags.HasErrors() {
			return
		}
		var bag diag.Bag
		a, ao := frames[0].Eval(e, frame.Scope{}, frame.After, &bag)
		b, bo := frames[1].Eval(e, frame.Scope{}, frame.After, &bag)
		validate.Eval(e, frame.Scope{}, frame.After, &bag)
		if (ao == frame.Broken || bo == frame.Broken) && !bag.HasErrors() {
			t.Error("broken without a diagnostic")
		}
		if ao == frame.OK && bo == frame.OK {
			if why := differ(a.Join(), b.Join(), nil); why != "" && !impure(src) {
				t.Errorf("%s\n%#v\n%#v", why, a, b)
			}
		}
	})
}

// impure reports whether an expression names a function whose results differ from call to call.
func impure(src string) bool {
	for _, name := range []string{"uuid", "timestamp", "bcrypt"} {
		if strings.Contains(src, name) {
			return true
		}
	}
	return false
}

// memory is a directory with one file.
type memory string

func (m memory) List(dir string) ([]string, error) { return []string{"main.tf"}, nil }

func (m memory) Read(path string, limit int64) ([]byte, error) {
	if filepath.Base(path) != "main.tf" {
		return nil, os.ErrNotExist
	}
	return []byte(m), nil
}

func (m memory) Join(dir, name string) string { return filepath.Join(dir, name) }

func (m memory) Same(dir string) string { return dir }

// FuzzProgram loads, compiles, checks and evaluates whole configurations.
func FuzzProgram(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txt")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range strings.Split(string(text), "#### ")[1:] {
			_, rest, _ := strings.Cut(part, "\n")
			config, _, _ := strings.Cut(rest, "==== ")
			config, _, _ = strings.Cut(config, "\n-- ")
			f.Add(config)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 10_000 || strings.Contains(text, "file") {
			return
		}
		var bag diag.Bag
		resolve := func(addr.Module, *config.Call, *config.Node, *diag.Bag) (string, string, string, bool) {
			return "", "", "", false
		}
		tree, ok := config.LoadTree(".", config.Options{Files: memory(text)}, resolve, &bag)
		if !ok {
			return
		}
		p, ok := Compile(tree, &bag)
		ok = vet.Check(p, cached.Of, vet.CheckOptions{Options: frame.Options{Limits: tight}}, &bag) && ok
		if ok == bag.HasErrors() && !ok {
			t.Error("not ok without an error")
		}
		if ok {
			run(p, frame.Options{Limits: tight}, false, &bag)
		}
	})
}
