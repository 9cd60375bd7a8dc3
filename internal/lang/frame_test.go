package lang

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

func str(s string) frame.Given { return frame.Given{Value: cty.StringVal(s), From: "-var"} }

func asText(s string) frame.Given { return frame.Given{Text: s, IsText: true, From: "TF_VAR_x"} }

func TestRootVariables(t *testing.T) {
	const vars = `
variable "s" {}
variable "n" {
  type    = number
  default = 1
}
variable "l" {
  type    = list(string)
  default = ["d"]
}
variable "o" {
  type    = object({ a = string, b = optional(number, 7) })
  default = { a = "x" }
}
variable "nn" {
  type     = string
  nullable = false
  default  = "dflt"
}
variable "secret" {
  sensitive = true
  default   = "x"
}
variable "eph" {
  ephemeral = true
  default   = "x"
}
output "s" { value = var.s }
output "n" { value = var.n }
output "l" { value = var.l }
output "o" { value = var.o }
output "nn" { value = var.nn }
`
	tests := []struct {
		name  string
		given map[string]frame.Given
		want  string // the output in Go syntax, or the diagnostics
	}{
		{"s", map[string]frame.Given{"s": str("a")}, `cty.StringVal("a")`},
		{"s", map[string]frame.Given{"s": asText("[1, 2]")}, `cty.StringVal("[1, 2]")`}, // a variable without a type keeps the text of its value
		{"n", map[string]frame.Given{"s": str("a"), "n": asText("12")}, `cty.NumberIntVal(12)`},
		{"n", map[string]frame.Given{"s": str("a"), "n": str("12")}, `cty.NumberIntVal(12)`},
		{"l", map[string]frame.Given{"s": str("a"), "l": asText(`["a", "b"]`)}, `cty.ListVal([]cty.Value{cty.StringVal("a"), cty.StringVal("b")})`},
		{"o", map[string]frame.Given{"s": str("a"), "o": asText(`{ a = 1 }`)}, `cty.ObjectVal(map[string]cty.Value{"a":cty.StringVal("1"), "b":cty.NumberIntVal(7)})`},
		{"nn", map[string]frame.Given{"s": str("a"), "nn": {Value: cty.NullVal(cty.String), From: "-var"}}, `cty.StringVal("dflt")`},
		{"", nil, `main.tf:2: error: No value for required variable
    The root module input variable "s" is not set, and has no default value. Use a -var or -var-file command line argument to provide a value for this variable.
`},
		{"", map[string]frame.Given{"s": str("a"), "n": asText("abc")}, `main.tf:3: error: Invalid value for input variable
    Unsuitable value for var.n set using TF_VAR_x: a number is required.
`},
		{"", map[string]frame.Given{"s": str("a"), "l": asText("abc")}, `<value for var.l from TF_VAR_x>:1: error: Variables not allowed
    Variables may not be used here. Write a constant value.
`},
		{"", map[string]frame.Given{"s": str("a"), "l": asText("[")}, `<value for var.l from TF_VAR_x>:1: error: Missing expression
    Expected the start of an expression, but found the end of the file.
`},
	}
	for _, test := range tests {
		var bag diag.Bag
		f, ok := frame.New(check(t, vars), frame.Options{Variables: test.given}, &bag)
		got := show(&bag)
		if ok {
			v, _ := f.Named(program.Output, test.name, frame.After, &bag)
			got = fmt.Sprintf("%#v", v.Raw)
		}
		if got != test.want {
			t.Errorf("%s %v: got\n%s\nwant\n%s", test.name, test.given, got, test.want)
		}
	}
}

// TestOrigins checks that marks of variables record their origin.
func TestOrigins(t *testing.T) {
	f := rootFrame(t, `
variable "password" {
  sensitive = true
  default   = "canary"
}
locals { url = "db://${var.password}@x" }
locals { dsn = { url = local.url, plain = 1 } }
module "m" {
  source = "m"
  in     = local.url
}
-- m --
variable "in" {}
output "out" { value = [var.in] }
`, frame.Options{Validate: true})
	var bag diag.Bag
	v, _ := f.Named(program.Local, "dsn", frame.After, &bag)
	m, ok := v.Find(mark.Sensitive)
	if !ok || mark.PathString(m.Path) != "url" || m.Why.String() != "local.dsn ← local.url ← var.password" {
		t.Errorf("%v %v", m, m.Why)
	}
}

// TestEmptySlots checks reads of a slot before it is filled. Before a walk the value is unknown. During a walk the read
// panics, because a walk fills slots in order. After a walk the read fails. A slot that is filled later can be read.
func TestEmptySlots(t *testing.T) {
	read := func(stage func(*frame.Frame)) (v mark.Value, o frame.Status, text string) {
		f := rootFrame(t, `
resource "test_thing" "a" {}
locals { it = test_thing.a.id }
`, frame.Options{})
		defer func() {
			if r := recover(); r != nil {
				text = fmt.Sprint(r)
			}
		}()
		stage(f)
		v, o = f.Named(program.Local, "it", frame.After, &diag.Bag{})
		f.Put(resource(f.Program(), "test_thing", "a").ID, addr.NoKey, frame.After, mark.Plain(cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("x")})))
		if stage(f); o == frame.OK {
			if again, _ := f.Named(program.Local, "it", frame.After, &diag.Bag{}); again.Raw.AsString() != "x" {
				t.Error("what was missed stays missing")
			}
		}
		return v, o, ""
	}
	if v, o, text := read(func(*frame.Frame) {}); text != "" || o != frame.OK || v.Raw.IsKnown() {
		t.Error("idle:", v, o, text)
	}
	if _, _, text := read((*frame.Frame).Begin); !strings.Contains(text, "test_thing.a") {
		t.Error("walking:", text)
	}
	if _, o, text := read((*frame.Frame).End); text != "" || o != frame.Failed {
		t.Error("over:", o, text)
	}
}

func TestInstances(t *testing.T) {
	f := rootFrame(t, `
module "m" {
  source   = "m"
  for_each = { a = 1, b = 2 }
  in       = each.value
}
-- m --
variable "in" {}
module "n" {
  source = "n"
  count  = var.in
  in     = "${var.in}-${count.index}"
}
-- n --
variable "in" {}
output "o" { value = var.in }
`, frame.Options{})
	var bag diag.Bag
	path := addr.Module{}.Child("m").Child("n")
	frames, status := f.Expand(path, frame.After, &bag)
	var got []string
	for _, f := range frames {
		v, _ := f.Named(program.Output, "o", frame.After, &bag)
		got = append(got, f.Addr().String()+"="+v.Raw.AsString())
	}
	want := `module.m["a"].module.n[0]=1-0 module.m["b"].module.n[0]=2-0 module.m["b"].module.n[1]=2-1`
	if status != frame.Known || strings.Join(got, " ") != want {
		t.Errorf("%v %s", status, got)
	}
	mi, _ := addr.ParseModuleInstance(`module.m["b"].module.n[1]`)
	if at := f.At(mi, frame.After); at == nil || at != frames[2] {
		t.Error("At does not find the instance")
	}
	gone, _ := addr.ParseModuleInstance(`module.m["c"].module.n[0]`)
	if f.At(gone, frame.After) != nil {
		t.Error("there is no such instance")
	}
	// On the Before face (the prior state), the engine sets the keys.
	m, _ := f.Program().Lookup(addr.Module{}, program.Call, "m")
	f.SetKeys(m.ID, frame.Before, frame.Keys{Repeat: program.ForEach, List: []addr.Key{addr.StringKey("z")}})
	before, _ := f.Expand(addr.Module{}.Child("m"), frame.Before, &bag)
	if len(before) != 1 || before[0].Addr().String() != `module.m["z"]` {
		t.Error(before)
	}
}

// TestSlots checks values, failures, lazy values, and reads of empty slots.
func TestSlots(t *testing.T) {
	const text = `
resource "test_thing" "a" { count = 3 }
locals {
  one   = test_thing.a[1].id
  all   = test_thing.a[*].id
  third = test_thing.a[2].id
}`
	f := rootFrame(t, text, frame.Options{})
	d := resource(f.Program(), "test_thing", "a").ID
	var bag diag.Bag
	obj := func(id string) mark.Value {
		return mark.Plain(cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal(id)}))
	}
	loaded := 0
	f.Put(d, addr.IntKey(0), frame.After, obj("x"))
	f.PutLazy(d, addr.IntKey(1), frame.After, func() mark.Value { loaded++; return obj("y") })
	f.Fail(d, addr.IntKey(2), frame.After)
	if v, o := f.Named(program.Local, "one", frame.After, &bag); o != frame.OK || v.Raw.AsString() != "y" {
		t.Error(v, o, show(&bag))
	}
	if _, ok := f.Got(d, addr.IntKey(1), frame.After); !ok || loaded != 1 {
		t.Error("loaded", loaded)
	}
	if _, o := f.Named(program.Local, "third", frame.After, &bag); o != frame.Failed || bag.Len() > 0 {
		t.Error(o, show(&bag))
	}
	if _, o := f.Named(program.Local, "all", frame.After, &bag); o != frame.Failed {
		t.Error(o)
	}
	f.Drop(d, addr.IntKey(0), frame.After)
	if _, ok := f.Got(d, addr.IntKey(0), frame.After); ok {
		t.Error("dropped")
	}
	// On the Before face (the prior state), an empty slot is unknown until it is filled.
	f.SetKeys(d, frame.Before, frame.Keys{Repeat: program.Count, List: []addr.Key{addr.IntKey(1)}})
	if v, o := f.Named(program.Local, "one", frame.Before, &bag); o != frame.OK || v.Raw.IsKnown() {
		t.Error(o, v)
	}
	f.Put(d, addr.IntKey(1), frame.Before, obj("old"))
	if v, o := f.Named(program.Local, "one", frame.Before, &bag); o != frame.OK || v.Raw.AsString() != "old" {
		t.Error(v, o)
	}
	// On the Before face (the prior state), a missing instance is unknown and not an error.
	if v, o := f.Named(program.Local, "third", frame.Before, &bag); o != frame.OK || v.Raw.IsKnown() {
		t.Error(v, o, show(&bag))
	}
}

// TestConcurrent checks reads from many goroutines.
func TestConcurrent(t *testing.T) {
	var text strings.Builder
	text.WriteString("variable \"v\" { default = 1 }\nlocals {\n  l0 = var.v\n")
	for i := 1; i < 50; i++ {
		fmt.Fprintf(&text, "  l%d = [local.l%d, module.m[0].out, \"${local.l%d}\" == \"x\" ? 1 : 2][0]\n", i, i-1, i/2)
	}
	text.WriteString("}\nmodule \"m\" {\n  source = \"m\"\n  count = local.l0\n  in = local.l0\n}\nresource \"test_thing\" \"a\" {\n  for_each = toset([\"a\", \"b\"])\n  num = local.l49\n name = each.value\n}\n-- m --\nvariable \"in\" {}\noutput \"out\" { value = var.in }\n")
	f := rootFrame(t, text.String(), frame.Options{})
	d := resource(f.Program(), "test_thing", "a").ID
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			var bag diag.Bag
			for _, k := range f.Keys(d, frame.After, &bag).List {
				if v, o := f.Config(d, k, frame.After, &bag); o != frame.OK || v.Raw.GetAttr("name").AsString() == "" {
					t.Error(show(&bag))
				}
			}
		})
	}
	wg.Wait()
}

func TestBuiltins(t *testing.T) {
	f := rootFrame(t, `
output "o" {
  value = [path.module, path.root, path.cwd, terraform.workspace, tofu.workspace, ephemeralasnull(terraform.applying), plantimestamp(), module.m.p]
}
module "m" { source = "m" }
-- m --
output "p" { value = path.module }
`, frame.Options{Workspace: "w", RootDir: ".", Cwd: "/home", PlanTime: time.Unix(0, 0).UTC()})
	var bag diag.Bag
	v, o := f.Named(program.Output, "o", frame.After, &bag)
	if o != frame.OK {
		t.Fatal(show(&bag))
	}
	var got []string
	for _, e := range v.Raw.AsValueSlice() {
		if e.IsNull() {
			got = append(got, "null")
			continue
		}
		got = append(got, e.AsString())
	}
	if s := strings.Join(got, " "); s != ". . /home w w null 1970-01-01T00:00:00Z m" {
		t.Error(s)
	}
}

func TestWhere(t *testing.T) {
	f := rootFrame(t, `
resource "test_thing" "a" {
  name = "x"
  tags = {
    a = "1"
    b = "2"
  }
  list = ["x",
    "y"]
  rule { a = "1" }
  rule {
    b = 2
  }
  keyed "k" {
    a = "x"
  }
  dynamic "uniq" {
    for_each = [1]
    content {
      a = "x"
    }
  }
}`, frame.Options{})
	d := resource(f.Program(), "test_thing", "a").ID
	ix := func(v any) cty.PathStep {
		if s, ok := v.(string); ok {
			return cty.IndexStep{Key: cty.StringVal(s)}
		}
		return cty.IndexStep{Key: cty.NumberIntVal(int64(v.(int)))}
	}
	at := func(steps ...any) cty.Path {
		var p cty.Path
		for i, s := range steps {
			if name, ok := s.(string); ok && (i == 0 || name[0] != '[') {
				p = p.GetAttr(name)
			} else if ok {
				p = append(p, ix(name[1:]))
			} else {
				p = append(p, ix(s))
			}
		}
		return p
	}
	tests := []struct {
		path cty.Path
		line int
	}{
		{at("name"), 3}, {at("tags"), 4}, {at("tags", "[b"), 6}, {at("tags", "[zork"), 4}, {at("list", 1), 9},
		{at("rule", 0, "a"), 10}, {at("rule", 1, "b"), 12}, {at("rule", 1, "a"), 11}, {at("keyed", "[k", "a"), 15},
		{at("uniq", 0, "a"), 20}, {at("num"), 2}, {nil, 2},
	}
	for _, test := range tests {
		if r := f.Where(d, test.path); r.Start.Line != test.line {
			t.Errorf("%s: line %d, want %d", mark.PathString(test.path), r.Start.Line, test.line)
		}
	}
}

func TestTriggers(t *testing.T) {
	f := rootFrame(t, `
resource "test_thing" "m" { count = 2 }
resource "test_thing" "o" {}
resource "test_thing" "a" {
  count = 2
  lifecycle {
    replace_triggered_by = [test_thing.m[count.index].rule[0].a, test_thing.m, test_thing.m[1], test_thing.o.name]
  }
}`, frame.Options{})
	d := resource(f.Program(), "test_thing", "a").ID
	var bag diag.Bag
	got, o := f.Triggers(d, addr.IntKey(1), &bag)
	var text []string
	for _, tr := range got {
		text = append(text, fmt.Sprintf("%s%s %v %s", tr.Resource, tr.Key, tr.All, mark.PathString(tr.Path)))
	}
	want := "test_thing.m[1] false rule[0].a; test_thing.m true ; test_thing.m[1] false ; test_thing.o false name"
	if o != frame.OK || strings.Join(text, "; ") != want {
		t.Errorf("%v %s", o, strings.Join(text, "; "))
	}
}

func TestImports(t *testing.T) {
	f := rootFrame(t, `
variable "ids" { default = { a = "i-1", b = "i-2" } }
import {
  for_each = var.ids
  to       = module.m["x"].test_thing.t[each.key]
  id       = each.value
}
import {
  to = test_thing.one
  id = "plain-${test_thing.other.id}"
}
import {
  to       = test_thing.other
  identity = { name = "n" }
}
resource "test_thing" "one" {}
resource "test_thing" "other" {}
module "m" {
  source   = "m"
  for_each = toset(["x"])
}
-- m --
resource "test_thing" "t" { for_each = toset(["a", "b"]) }
`, frame.Options{})
	p := f.Program()
	var bag diag.Bag
	inner, _ := p.Resource(addr.Resource{Module: addr.Module{}.Child("m"), Mode: addr.Managed, Type: "test_thing", Name: "t"})
	got, o := f.Imports(inner.ID, &bag)
	if o != frame.OK || len(got) != 2 || got[0].To.String() != `module.m["x"].test_thing.t["a"]` || got[0].ID != "i-1" || got[1].ID != "i-2" {
		t.Errorf("%v %v %s", o, got, show(&bag))
	}
	f.Put(resource(p, "test_thing", "other").ID, addr.NoKey, frame.After, mark.Plain(cty.ObjectVal(map[string]cty.Value{"id": cty.UnknownVal(cty.String)})))
	got, o = f.Imports(resource(p, "test_thing", "one").ID, &bag)
	if o != frame.OK || len(got) != 1 || !got[0].Unknown {
		t.Errorf("%v %v", o, got)
	}
	got, _ = f.Imports(resource(p, "test_thing", "other").ID, &bag)
	if len(got) != 1 || got[0].Identity.GetAttr("name").AsString() != "n" {
		t.Error(got)
	}
	all, _ := f.AllImports(&bag)
	if len(all) != 4 || bag.Len() > 0 {
		t.Error(all, show(&bag))
	}
}

func TestImportMistakes(t *testing.T) {
	tests := []struct{ block, want string }{
		{`id = null`, "Invalid import id argument: The import id cannot be null."},
		{`id = ""`, "Invalid import id argument: The import id is an empty string. Set it to the provider's ID of the object."},
		{`id = []`, "Invalid import id argument: The import id value is unsuitable: string required, but have tuple."},
		{`id = sensitive("x")`, "Invalid import id argument: The import id cannot be sensitive, because plans show it."},
		{`identity = null`, "Invalid import identity argument: The import identity cannot be null."},
		{`identity = { a = sensitive("x") }`, "Invalid import identity argument: The import identity cannot be sensitive, because plans show it."},
	}
	for _, test := range tests {
		p := compile(t, "resource \"test_thing\" \"t\" {}\nimport {\n  to = test_thing.t\n  "+test.block+"\n}\n")
		var bag diag.Bag
		if vet.Check(p, cached.Of, vet.CheckOptions{}, &bag) || bag.List()[0].Summary+": "+bag.List()[0].Detail != test.want {
			t.Errorf("%s: %s", test.block, show(&bag))
		}
	}
}

func TestProviderKeys(t *testing.T) {
	f := rootFrame(t, `
required "test" { source = "test" }
provider "test" {
  alias    = "each"
  for_each = toset(["eu", "us"])
  region   = each.key
}
resource "test_thing" "a" {
  for_each = toset(["eu"])
  provider = test.each[each.key]
}
module "m" {
  source    = "m"
  for_each  = toset(["us"])
  providers = { test = test.each[each.value] }
}
resource "test_thing" "plain" {}
-- m --
resource "test_thing" "b" {}
`, frame.Options{})
	p := f.Program()
	var bag diag.Bag
	key := func(f *frame.Frame, d *program.Declaration, k addr.Key) string {
		got, o := f.ProviderKey(d.ID, k, frame.After, &bag)
		if o != frame.OK {
			t.Fatal(show(&bag))
		}
		return got.String()
	}
	if k := key(f, resource(p, "test_thing", "a"), addr.StringKey("eu")); k != `["eu"]` {
		t.Error(k)
	}
	if k := key(f, resource(p, "test_thing", "plain"), addr.NoKey); k != "" {
		t.Error(k)
	}
	inner, _ := p.Resource(addr.Resource{Module: addr.Module{}.Child("m"), Mode: addr.Managed, Type: "test_thing", Name: "b"})
	frames, _ := f.Expand(inner.Module, frame.After, &bag)
	if k := key(frames[0], inner, addr.NoKey); k != `["us"]` {
		t.Error(k)
	}
	each := p.ProviderOf(inner.ID)
	v, o := f.Settings(each, addr.StringKey("us"), frame.After, &bag)
	if o != frame.OK || v.Raw.GetAttr("region").AsString() != "us" {
		t.Error(v, show(&bag))
	}
	if d, ok := p.ProviderFor(addr.Module{}.Child("m"), addr.Default("test"), ""); !ok || d != each {
		t.Error(d, ok)
	}
	if d, ok := p.ProviderFor(addr.Module{}.Child("gone"), addr.Default("test"), "each"); ok {
		t.Error("the configuration of a module that does not exist", d)
	}
	if d, ok := p.ProviderFor(addr.Module{}.Child("m"), addr.Default("test"), "each"); ok {
		t.Error("a configuration that the caller does not pass", d)
	}
	other, _ := addr.Default("test").Counterpart()
	if d, ok := p.ProviderFor(addr.Module{}, other, "each"); !ok || d != each {
		t.Error("both registries name the same providers", d, ok)
	}
	if _, ok := p.ProviderFor(addr.Module{}, addr.Default("zork"), ""); ok {
		t.Error("there is no such configuration")
	}
	implied := p.ProviderOf(resource(p, "test_thing", "plain").ID)
	if v, o := f.Settings(implied, addr.NoKey, frame.After, &bag); o != frame.OK || !v.Raw.GetAttr("region").IsNull() {
		t.Error(v, o)
	}
}

func TestFlags(t *testing.T) {
	f := rootFrame(t, `
variable "p" { default = true }
resource "test_thing" "a" {
  lifecycle {
    prevent_destroy = var.p
    destroy         = !var.p
  }
}
resource "test_thing" "b" {}
resource "test_thing" "u" {
  lifecycle { prevent_destroy = test_thing.b.id == "x" }
}`, frame.Options{})
	p := f.Program()
	var bag diag.Bag
	if on, o := f.PreventDestroy(resource(p, "test_thing", "a").ID, addr.NoKey, frame.Before, &bag); !on || o != frame.OK {
		t.Error(on, o)
	}
	if on, o := f.Forget(resource(p, "test_thing", "a").ID, addr.NoKey, frame.Before, &bag); !on || o != frame.OK {
		t.Error(on, o)
	}
	if on, o := f.Forget(resource(p, "test_thing", "b").ID, addr.NoKey, frame.Before, &bag); on || o != frame.OK {
		t.Error(on, o)
	}
	f.Put(resource(p, "test_thing", "b").ID, addr.NoKey, frame.Before, mark.Plain(cty.ObjectVal(map[string]cty.Value{"id": cty.UnknownVal(cty.String)})))
	if _, o := f.PreventDestroy(resource(p, "test_thing", "u").ID, addr.NoKey, frame.Before, &bag); o != frame.Broken || !strings.Contains(show(&bag), "must be known") {
		t.Error(o, show(&bag))
	}
}

func TestProvisioners(t *testing.T) {
	f := rootFrame(t, `
variable "v" { default = "x" }
resource "test_thing" "a" {
  count = 2
  provisioner "p" {
    command = "${self.name} ${count.index} ${var.v}"
  }
  connection { host = self.id }
}`, frame.Options{})
	d := resource(f.Program(), "test_thing", "a")
	self := mark.Plain(cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal("n"), "id": cty.StringVal("i")}))
	in := frame.Scope{Decl: d.ID, Key: addr.IntKey(1), Self: &self}
	sch := func(name string) *schema.Block {
		return &schema.Block{Attrs: []*schema.Attr{{Name: name, Type: cty.String, Required: true}}}
	}
	var bag diag.Bag
	command := sch("command")
	for range 2 {
		v, o := f.Body(d.Res.Provisioners[0].Body, command, in, frame.After, &bag)
		if o != frame.OK || v.Raw.GetAttr("command").AsString() != "n 1 x" {
			t.Fatal(v, show(&bag))
		}
	}
	v, o := f.Body(d.Res.Connection.Body, sch("host"), in, frame.After, &bag)
	if o != frame.OK || v.Raw.GetAttr("host").AsString() != "i" {
		t.Fatal(v, show(&bag))
	}
	if _, o := f.Body(d.Res.Connection.Body, sch("zork"), in, frame.After, &bag); o != frame.Broken {
		t.Error(o)
	}
}

func TestConsole(t *testing.T) {
	f := rootFrame(t, `
variable "v" { default = "x" }
resource "test_thing" "a" { count = 2 }
`, frame.Options{Console: true})
	var bag diag.Bag
	if v, o := frame.NewConsole(f, frame.Before).Eval([]byte(`"${var.v}-${upper("y")}"`), "<console-input>", &bag); o != frame.OK || v.Raw.AsString() != "x-Y" {
		t.Error(v, show(&bag))
	}
	for src, want := range map[string]string{
		`var.zork`: "Reference to undeclared input variable", `1 +`: "Missing expression", `each.key`: `Reference to "each" in context without for_each`,
		"1+\xff": "Invalid character encoding", "1+'a'": "Invalid character", "1+`a`": "Invalid character", "a and b": "Extra characters after expression",
		`count.index`: `Reference to "count" in non-counted context`, `self`: `Invalid "self" reference`,
	} {
		var bag diag.Bag
		frame.NewConsole(f, frame.Before).Eval([]byte(src), "<console-input>", &bag)
		got := ""
		if l := bag.List(); len(l) == 1 {
			got = l[0].Summary
		}
		if got != want {
			t.Errorf("%s: %v", src, bag.List())
		}
	}
}

func TestRepeatOf(t *testing.T) {
	p := compile(t, `
resource "test_thing" "a" {}
resource "test_thing" "b" { count = 1 }
resource "test_thing" "c" { for_each = {} }
resource "test_thing" "d" {
  lifecycle { enabled = true }
}`)
	for name, want := range map[string]program.RepeatKind{"a": program.Once, "b": program.Count, "c": program.ForEach, "d": program.Enabled} {
		if got := program.RepeatOf(resource(p, "test_thing", name).Res); got != want {
			t.Error(name, got)
		}
	}
	_ = config.Repeat{}
}

// TestPaths checks that paths of modules are relative to the root module, and that file functions start there.
func TestPaths(t *testing.T) {
	tree := loadDir(t, `
-- main.tf --
module "m" { source = "./sub/m" }
output "o" { value = [path.root, path.module, module.m.p, file("${path.module}/main.tf") != "", fileexists("sub/m/x.txt")] }
-- sub/m/main.tf --
output "p" { value = "${path.root} ${path.module} ${file("${path.module}/x.txt")}" }
-- sub/m/x.txt --
text
`)
	var bag diag.Bag
	p, ok := Compile(tree, &bag)
	if !ok || !vet.Check(p, cached.Of, vet.CheckOptions{}, &bag) {
		t.Fatal(show(&bag))
	}
	f, _ := frame.New(p, frame.Options{RootDir: tree.Root.Module.Dir}, &bag)
	v, _ := f.Named(program.Output, "o", frame.After, &bag)
	if got := fmt.Sprintf("%#v", v.Raw); got != `cty.TupleVal([]cty.Value{cty.StringVal("."), cty.StringVal("."), cty.StringVal(". sub/m text\n"), cty.True, cty.True})` {
		t.Error(got, show(&bag))
	}
}

// TestProviderKeyThatIsNotThere checks that the chosen instance of a provider must exist.
func TestProviderKeyThatIsNotThere(t *testing.T) {
	f := rootFrame(t, `
required "test" { source = "test" }
provider "test" {
  alias    = "each"
  for_each = toset(["eu"])
}
resource "test_thing" "a" { provider = test.each["us"] }
`, frame.Options{})
	var bag diag.Bag
	if _, o := f.ProviderKey(resource(f.Program(), "test_thing", "a").ID, addr.NoKey, frame.After, &bag); o != frame.Broken || !strings.Contains(show(&bag), `There is no instance ["us"] of the provider configuration "test.each".`) {
		t.Error(o, show(&bag))
	}
}
