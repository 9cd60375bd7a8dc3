package lang

import (
	"testing"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/zclconf/go-cty/cty"
)

// TestConstants checks which locals are constants.
func TestConstants(t *testing.T) {
	const around = `
variable "v" { default = "x" }
variable "e" {
  default   = "x"
  ephemeral = true
}
resource "test_thing" "one" {
  name = "n"
}
resource "test_thing" "many" {
  count = 2
  name  = "n"
}
data "test_thing" "read" {
  name = "n"
}
ephemeral "test_secret" "open" {}
module "m" {
  source = "m"
}
locals {
  text    = "%{ for x in [1] }${x}%{ endfor }"
  number  = 1
  next    = local.number + 1
  objects = { for i in range(3) : "k${i}" => { id = i, up = upper("a") } }
  attr    = local.objects.k1.id
  keys    = core::keys(local.objects)
  hidden  = sensitive("x")
  tried   = try(local.objects.none, [for x in local.keys : x if x != "k0"][0])
  chain   = [local.attr, local.next, local.tried, local.hidden]

  variable  = var.v
  through   = local.variable
  deep      = [for x in local.keys : { a = local.through }]
  secret    = var.e
  module    = path.module
  root      = path.root
  cwd       = path.cwd
  workspace = terraform.workspace
  applying  = tofu.applying
  output    = module.m.out
  managed   = test_thing.one.id
  instance  = test_thing.many[local.number].id
  splat     = test_thing.many[*].id
  data      = data.test_thing.read.id
  lease     = ephemeral.test_secret.open
  time      = timestamp()
  planned   = core::plantimestamp()
  random    = uuid()
  hash      = bcrypt("x")
  file      = try(file("none"), "")
  exists    = fileexists("none")
  files     = fileset(".", "*")
  sum       = try(filesha256("none"), "")
  rendered  = try(templatefile("none", {}), "")
  template  = templatestring(local.text, {})
  absolute  = abspath(".")
  home      = pathexpand("~")
  other     = try(provider::test::fn(1), 1)
  missing   = try(no_such_function(1), 1)
}
-- m --
output "out" { value = 1 }
`
	p := compile(t, around)
	constants := map[string]bool{"text": true, "number": true, "next": true, "objects": true, "attr": true, "keys": true, "hidden": true, "tried": true, "chain": true}
	for _, d := range p.Root().Unit.Defs {
		if d.Kind != program.Local && d.Once != nil || d.Kind == program.Local && (d.Once != nil) != constants[d.Name] {
			t.Errorf("%s %s: constant: %v", d.Kind, d.Name, d.Once != nil)
		}
	}
}

// TestConstantsInCycles checks that a local on or before a cycle is not a constant, whichever local the search starts
// from.
func TestConstantsInCycles(t *testing.T) {
	var bag diag.Bag
	p, ok := Compile(load(t, `locals {
  a = local.b
  b = [local.c, local.d]
  c = local.a
  d = 1
  e = local.c
}`), &bag)
	if ok {
		t.Fatal("no cycle")
	}
	for _, d := range p.Root().Unit.Defs {
		if (d.Once != nil) != (d.Name == "d") {
			t.Errorf("%s: constant: %v", d.Name, d.Once != nil)
		}
	}
}

// TestBrokenConstants checks that each reader of a broken constant gets its error.
func TestBrokenConstants(t *testing.T) {
	p := compile(t, `locals {
  broken = [1][7]
  other  = local.broken
}`)
	var bag diag.Bag
	if vet.Check(p, cached.Of, vet.CheckOptions{}, &bag) || len(bag.List()) != 1 {
		t.Fatal(show(&bag))
	}
	for range 2 {
		var bag diag.Bag
		f, _ := frame.New(p, frame.Options{}, &bag)
		if _, o := f.Named(program.Local, "other", frame.After, &bag); o != frame.Broken || len(bag.List()) != 1 {
			t.Error(o, show(&bag))
		}
	}
}

// TestVaryingLocals checks that each walk evaluates locals that are not constants with its own inputs.
func TestVaryingLocals(t *testing.T) {
	p := check(t, `
variable "v" {}
variable "e" { ephemeral = true }
locals {
  v        = [var.v]
  e        = [var.e]
  applying = tofu.applying
  where    = terraform.workspace
}`)
	for _, given := range []string{"one", "two"} {
		var bag diag.Bag
		f, _ := frame.New(p, frame.Options{Variables: map[string]frame.Given{"v": str(given), "e": str(given)}, Workspace: given, Applying: given == "two"}, &bag)
		for name, want := range map[string]cty.Value{
			"v": cty.TupleVal([]cty.Value{cty.StringVal(given)}), "e": cty.TupleVal([]cty.Value{cty.StringVal(given)}),
			"applying": cty.BoolVal(given == "two"), "where": cty.StringVal(given),
		} {
			if v, o := f.Named(program.Local, name, frame.After, &bag); o != frame.OK || !v.Raw.RawEquals(want) {
				t.Errorf("%s: %#v %v", name, v.Raw, o)
			}
		}
	}
}
