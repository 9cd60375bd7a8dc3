package lang

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lang/vet"
)

// loadDir reads a configuration with the real loader. Lines "-- name --" separate files.
func loadDir(t *testing.T, text string) *config.Tree {
	t.Helper()
	dir := t.TempDir()
	var name string
	files := map[string]*strings.Builder{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "-- ") {
			name = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "-- "), " --")
			files[name] = &strings.Builder{}
			continue
		}
		if name != "" {
			files[name].WriteString(line)
		}
	}
	for name, b := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	resolve := func(path addr.Module, call *config.Call, parent *config.Node, bag *diag.Bag) (string, string, string, bool) {
		src, ok := frame.StaticSource(parent, call, frame.Options{}, bag)
		return filepath.Join(parent.Module.Dir, src), src, "", ok
	}
	var bag diag.Bag
	tree, ok := config.LoadTree(dir, config.Options{Display: func(p string) string {
		rel, _ := filepath.Rel(dir, p)
		return rel
	}}, resolve, &bag)
	if !ok {
		t.Fatal(show(&bag))
	}
	return tree
}

// TestWithTheLoader checks that this package accepts all forms of output of the loader: escape blocks, overrides, JSON,
// and modules whose source is a local value.
func TestWithTheLoader(t *testing.T) {
	tree := loadDir(t, `
-- main.tf --
locals { where = "./m" }
variable "v" { default = "x" }
resource "test_thing" "a" {
  count = 2
  name  = "base-${count.index}"
  num   = 1
  _ { tags = { e = "escaped" } }
  lifecycle {
    precondition {
      condition     = var.v == "x"
      error_message = "no"
    }
  }
}
module "m" {
  source = local.where
  in     = test_thing.a[1].name
}
output "o" { value = module.m.out }
-- main_override.tf --
resource "test_thing" "a" {
  num = 2
}
-- more.tf.json --
{"resource": {"test_thing": {"j": {"name": "${var.v}-j", "rule": [{"a": "${module.m.out}"}], "depends_on": ["test_thing.a"]}}}}
-- m/main.tf --
variable "in" {}
output "out" { value = "<${var.in}>" }
`)
	var bag diag.Bag
	p, ok := Compile(tree, &bag)
	if !ok || !vet.Check(p, cached.Of, vet.CheckOptions{}, &bag) {
		t.Fatal(show(&bag))
	}
	s := run(p, frame.Options{}, true, &bag)
	if bag.Len() > 0 {
		t.Fatal(show(&bag))
	}
	a, j := s.got["test_thing.a[1]"].Raw, s.got["test_thing.j"].Raw
	if a.GetAttr("name").AsString() != "base-1" || a.GetAttr("num").AsBigFloat().String() != "2" || a.GetAttr("tags").LengthInt() != 1 {
		t.Errorf("%#v", a)
	}
	if j.GetAttr("name").AsString() != "x-j" || j.GetAttr("rule").LengthInt() != 1 {
		t.Errorf("%#v", j)
	}
	if v, _ := s.f.Named(program.Output, "o", frame.After, &bag); v.Raw.AsString() != "<base-1>" {
		t.Errorf("%#v", v.Raw)
	}
}
