package program

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
)

// compile compiles a root module.
func compile(t *testing.T, text string) (*Program, *diag.Bag) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	var bag diag.Bag
	tree, ok := config.LoadTree(dir, config.Options{}, nil, &bag)
	if !ok {
		t.Fatal(bag.List())
	}
	p, _ := Compile(tree, &bag)
	return p, &bag
}

// TestKeyHints checks which instances a reference selects.
func TestKeyHints(t *testing.T) {
	const text = `
resource "terraform_data" "one" {}
resource "terraform_data" "many" { count = 2 }
resource "terraform_data" "r" {
  count = 2
  input = `
	tests := map[string]struct {
		to   string
		hint KeyHint
	}{
		`terraform_data.one.id`:               {"terraform_data.one", Single},
		`terraform_data.many[0].id`:           {"terraform_data.many", Fixed},
		`terraform_data.many[count.index].id`: {"terraform_data.many", Same},
		`terraform_data.many[1 + 0].id`:       {"terraform_data.many", AllKeys},
		`terraform_data.many[*].id`:           {"terraform_data.many", AllKeys},
	}
	for src, want := range tests {
		p, bag := compile(t, text+src+"\n}\n")
		var got []Ref
		for _, d := range p.Decls() {
			if d.Kind == Resource && d.Resource.Name == "r" {
				got = p.Refs(d.ID)
			}
		}
		found := false
		for _, r := range got {
			found = found || p.Decls()[r.To].String() == want.to && r.Key == want.hint && r.Use == ByValue
		}
		if !found || bag.Len() > 0 {
			t.Errorf("%s: %v %v", src, got, bag.List())
		}
	}
}

// TestUndeclared checks that an undeclared name is reported at its line, with a suggestion.
func TestUndeclared(t *testing.T) {
	tests := map[string]string{
		`var.nmae`:              `Reference to undeclared input variable: Did you mean "name"?`,
		`local.fulll`:           `Reference to undeclared local value: Did you mean "full"?`,
		`module.m`:              `Reference to undeclared module: No module call named "m"`,
		`terraform_data.ons.id`: `Reference to undeclared resource: Did you mean terraform_data.one?`,
		`path.modul`:            `Invalid "path" attribute: Did you mean "module"?`,
		`count.index`:           `Reference to "count" in non-counted context: can only be used`,
		`nothing("x")`:          `Call to unknown function: There is no function named "nothing"`,
	}
	for src, want := range tests {
		_, bag := compile(t, "variable \"name\" {}\nresource \"terraform_data\" \"one\" {}\nlocals {\n full = 1\n x = "+src+"\n}\n")
		title, detail, _ := strings.Cut(want, ": ")
		l := bag.List()
		if len(l) != 1 || l[0].Summary != title || !strings.Contains(l[0].Detail, detail) || l[0].Subject.Start.Line != 5 {
			t.Errorf("%s: %v", src, l)
		}
	}
}

// TestConstantLocals checks that a local of literals, pure functions and other constants is a constant.
func TestConstantLocals(t *testing.T) {
	p, _ := compile(t, "variable \"v\" {}\nlocals {\n a = upper(\"x\")\n b = [local.a]\n c = var.v\n d = [local.c]\n e = timestamp()\n}\n")
	want := map[string]bool{"a": true, "b": true}
	for _, d := range p.Root().Unit.Defs {
		if d.Kind == Local && (d.Once != nil) != want[d.Name] {
			t.Error(d.Name, d.Once != nil)
		}
	}
}

// TestImportAddress checks that the keys in an import address belong to the module calls in it, or to the resource.
func TestImportAddress(t *testing.T) {
	p, bag := compile(t, "resource \"terraform_data\" \"r\" { count = 2 }\nimport {\n to = terraform_data.r[1]\n id = \"x\"\n}\nimport {\n to = module.a.module.b[\"k\"].terraform_data.r\n id = \"x\"\n}\n")
	im := p.Root().Unit.Imports
	if len(im) != 2 || im[0].Key == nil || len(im[0].ModuleKeys) != 0 || im[1].Key != nil || im[1].ModuleKeys[0] != nil || im[1].ModuleKeys[1] == nil {
		t.Errorf("%+v %v", im, bag.List())
	}
}
