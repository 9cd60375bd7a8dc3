package vet

import (
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lang/program/programtest"
)

// Each check reports its mistake once.
func TestStructure(t *testing.T) {
	tests := []struct{ name, root, called, want string }{
		{"nothing", `locals { a = 1 }`, ``, ""},
		{"cycle", "locals {\n a = local.b\n b = local.a\n}", ``, "Cycle"},
		{"itself", `locals { a = local.a }`, ``, "Self-referencing local value"},
		{"argument", "module \"m\" {\n source = \"./m\"\n naem = 1\n}", `variable "name" {}`, "Unsupported argument"},
		{"missing argument", `module "m" { source = "./m" }`, `variable "name" {}`, "Missing required argument"},
		{"moves", "moved {\n from = terraform_data.a\n to = terraform_data.b\n}\nmoved {\n from = terraform_data.a\n to = terraform_data.c\n}", ``, "Ambiguous move statements"},
		{"constant", "resource \"terraform_data\" \"r\" {}\nmodule \"m\" {\n source = \"./m\"\n name = terraform_data.r.id\n}", "variable \"name\" {\n const = true\n}", "Dynamic value in static context"},
		{"destroy provisioner", "resource \"terraform_data\" \"o\" {}\nresource \"terraform_data\" \"r\" {\n provisioner \"local-exec\" {\n  when = destroy\n  command = terraform_data.o.id\n }\n}", ``, "Invalid reference from destroy provisioner"},
		{"deprecated", "module \"m\" { source = \"./m\" }\nlocals {\n all = module.m\n a = local.all.old\n}", "output \"old\" {\n value = 1\n deprecated = \"x\"\n}", "Deprecated value used"},
		{"deprecated in a loop", "module \"m\" {\n source = \"./m\"\n count = 2\n}\nlocals {\n a = [for x in module.m : x.old]\n}", "output \"old\" {\n value = 1\n deprecated = \"x\"\n}", "Deprecated value used"},
		{"deprecated and not selected", "module \"m\" { source = \"./m\" }\nlocals {\n all = module.m\n a = local.all.new\n}", "output \"old\" {\n value = 1\n deprecated = \"x\"\n}\noutput \"new\" { value = 1 }", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var bag diag.Bag
			ok := Structure(programtest.Compile(t, test.root, test.called), &bag)
			var got []string
			for _, d := range bag.List() {
				got = append(got, d.Summary)
			}
			if strings.Join(got, ", ") != test.want || ok != !bag.HasErrors() {
				t.Errorf("%v, not %q: %v", got, test.want, bag.List())
			}
		})
	}
}

// After the check, the program knows the declarations that are part of a cycle or depend on one.
func TestEndless(t *testing.T) {
	p := programtest.Compile(t, "locals {\n a = local.b\n b = local.a\n c = local.a\n d = 1\n}", "")
	Structure(p, &diag.Bag{})
	for _, d := range p.Decls() {
		if d.Kind == program.Local && p.Endless(d.ID) != (d.Name != "d") {
			t.Error(d.Name, p.Endless(d.ID))
		}
	}
}
