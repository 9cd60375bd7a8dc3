package lang

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/zclconf/go-cty/cty"
)

// calls implements Run, the interface for calls of provider functions, with three functions: join, fail, and own. Only
// a configured provider has own.
type calls struct {
	frame.NoRun
	log []string
}

func (c *calls) Function(p addr.Provider, fn string) *provider.Function {
	str := func(name string) provider.Param { return provider.Param{Name: name, Type: cty.String} }
	switch fn {
	case "join":
		rest := str("rest")
		return &provider.Function{Params: []provider.Param{str("sep")}, Variadic: &rest, Return: cty.String}
	case "fail":
		return &provider.Function{Params: []provider.Param{str("x")}, Return: cty.String}
	}
	return nil
}

// Configured returns one more function, "own", for every provider configuration. It returns false for the provider
// "unknown", whose configured functions cannot be known.
func (c *calls) Configured(config program.Decl, p addr.Provider) (map[string]*provider.Function, bool, error) {
	c.log = append(c.log, "asked "+p.Type)
	if p.Type == "unknown" {
		return nil, false, nil
	}
	return map[string]*provider.Function{"own": {Params: []provider.Param{{Name: "x", Type: cty.String}}, Return: cty.String}}, true, nil
}

func (c *calls) Call(config program.Decl, p addr.Provider, fn string, args []cty.Value) (cty.Value, error) {
	c.log = append(c.log, fmt.Sprintf("%s %s %v", p.Type, fn, config == program.NoDecl))
	var parts []string
	for _, a := range args {
		if a.IsMarked() {
			return cty.NilVal, errors.New("marked")
		}
		parts = append(parts, a.AsString())
	}
	switch fn {
	case "fail":
		return cty.NilVal, &provider.CallError{Text: "do not like " + parts[0], Arg: 0}
	case "own":
		return cty.StringVal("own"), nil
	}
	return cty.StringVal(strings.Join(parts[1:], parts[0])), nil
}

// functioned describes a provider with functions.
type functioned struct{}

func (functioned) Of(p addr.Provider) *provider.Schemas {
	s := fake{}.Of(p)
	s.Functions["join"] = (&calls{}).Function(p, "join")
	s.Functions["fail"] = (&calls{}).Function(p, "fail")
	return s
}

func TestProviderFunctions(t *testing.T) {
	const config = `
required "test" { source = "test" }
provider "test" {
  alias  = "b"
  region = "r"
}
variable "s" {
  default   = "canary"
  sensitive = true
}
variable "args" { default = ["a", "b"] }
resource "test_thing" "u" {}
locals {
  a = provider::test::join("-", "x", "y")
  b = provider::test::join("-", var.args...)
  c = provider::test::join("-", var.s)
  d = provider::test::fail("x")
  e = provider::test::fail(var.s)
  f = provider::test::b::own("x")
  g = provider::test::join(null, "x")
  h = provider::test::join("-", test_thing.u.id)
  i = provider::test::join("-", [])
}
`
	var bag diag.Bag
	p, ok := Compile(load(t, config), &bag)
	if !ok || !vet.Check(p, functioned{}.Of, vet.CheckOptions{}, &bag) && false {
		t.Fatal(show(&bag))
	}
	c := &calls{}
	f, _ := frame.New(p, frame.Options{Run: c}, &bag)
	f.Put(resource(p, "test_thing", "u").ID, addr.NoKey, frame.After, mark.Plain(cty.ObjectVal(map[string]cty.Value{"id": cty.UnknownVal(cty.String)})))
	tests := []struct{ name, want string }{
		{"a", `cty.StringVal("x-y")`},
		{"b", `cty.StringVal("a-b")`},
		{"c", `cty.StringVal("canary") sensitive`},
		{"d", "main.tf:17: error: Invalid function argument\n    | while calling provider::test::fail(x)\n    Invalid value for \"x\" parameter: do not like x.\n"},
		{"e", "main.tf:18: error: Invalid function argument\n    | while calling provider::test::fail(x)\n    Invalid value for \"x\" parameter: the provider's message is not shown because an argument is sensitive or ephemeral.\n"},
		{"f", `cty.StringVal("own")`},
		{"g", "main.tf:20: error: Invalid function argument\n    | while calling provider::test::join(sep, rest...)\n    Invalid value for \"sep\" parameter: argument must not be null.\n"},
		{"h", `cty.UnknownVal(cty.String)`},
		{"i", "main.tf:22: error: Invalid function argument\n    | while calling provider::test::join(sep, rest...)\n    Invalid value for \"rest\" parameter: string required, but have tuple.\n"},
	}
	for _, test := range tests {
		var bag diag.Bag
		v, o := f.Named(program.Local, test.name, frame.After, &bag)
		got := show(&bag)
		if o == frame.OK {
			got = fmt.Sprintf("%#v", v.Raw)
			if v.Has(mark.Sensitive) {
				got += " sensitive"
			}
		}
		if got != test.want {
			t.Errorf("%s: got\n%s\nwant\n%s", test.name, got, test.want)
		}
	}
	// A call of a function of a configured provider refers to the provider configuration. Other calls do not.
	d, _ := p.Lookup(addr.Module{}, program.Local, "f")
	if refs := p.Refs(d.ID); len(refs) != 1 || refs[0].Use != program.ByFunction || p.Decls()[refs[0].To].Provider.Alias != "b" {
		t.Error(refs)
	}
	d, _ = p.Lookup(addr.Module{}, program.Local, "a")
	if refs := p.Refs(d.ID); len(refs) != 0 {
		t.Error(refs)
	}
}

// TestConfiguredFunctions checks functions that are missing from the schema: they may be functions of a configured
// provider.
func TestConfiguredFunctions(t *testing.T) {
	p := compile(t, `
required "test" { source = "test" }
provider "test" { region = "r" }
locals { a = provider::test::zork(1) }
`)
	var bag diag.Bag
	if !vet.Check(p, functioned{}.Of, vet.CheckOptions{}, &bag) {
		t.Fatal(show(&bag))
	}
	d, _ := p.Lookup(addr.Module{}, program.Local, "a")
	if refs := p.Refs(d.ID); len(refs) != 1 || refs[0].Use != program.ByFunction {
		t.Error(refs)
	}
	p = compile(t, `
required "test" { source = "test" }
locals { a = provider::test::jion(1) }
`)
	if vet.Check(p, functioned{}.Of, vet.CheckOptions{}, &bag) || !strings.Contains(show(&bag), `The function "jion" is not available from the provider "test". Did you mean "join"?`) {
		t.Error(show(&bag))
	}
	p = compile(t, `
required "test" { source = "test" }
provider "test" { region = provider::test::zork(1) }
`)
	bag = diag.Bag{}
	if vet.Check(p, functioned{}.Of, vet.CheckOptions{}, &bag) || !strings.Contains(show(&bag), "may not refer to itself") {
		t.Error(show(&bag))
	}
}
