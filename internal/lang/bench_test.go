package lang

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

func manyBlocks(n int) string {
	var b strings.Builder
	b.WriteString("variable \"v\" { default = \"x\" }\nlocals { l = \"${var.v}-y\" }\n")
	for i := range n {
		fmt.Fprintf(&b, "resource \"test_thing\" \"r%d\" {\n  name = \"${local.l}-%d\"\n  num = %d\n  list = [var.v, \"lit\"]\n  tags = { a = \"b\", c = local.l }\n", i, i, i)
		if i > 0 {
			fmt.Fprintf(&b, "  secret = test_thing.r%d.id\n", i-1)
		}
		b.WriteString("  rule {\n    a = \"x\"\n  }\n}\n")
	}
	return b.String()
}

// BenchmarkParse10k measures the parser of the HCL library on the input of the next benchmarks.
func BenchmarkParse10k(b *testing.B) {
	text := []byte(manyBlocks(10_000))
	b.ReportAllocs()
	for b.Loop() {
		if _, diags := hclsyntax.ParseConfig(text, "main.tf", hcl.InitialPos); diags.HasErrors() {
			b.Fatal(diags)
		}
	}
}

func BenchmarkCompile10k(b *testing.B) {
	tree := load(b, manyBlocks(10_000))
	b.ReportAllocs()
	for b.Loop() {
		var bag diag.Bag
		if _, ok := Compile(tree, &bag); !ok {
			b.Fatal(show(&bag))
		}
	}
}

func BenchmarkCheck10k(b *testing.B) {
	p := compile(b, manyBlocks(10_000))
	b.ReportAllocs()
	for b.Loop() {
		var bag diag.Bag
		if !vet.Check(p, cached.Of, vet.CheckOptions{}, &bag) {
			b.Fatal(show(&bag))
		}
	}
}

func BenchmarkCheckBodies10k(b *testing.B) {
	p := compile(b, manyBlocks(10_000))
	b.ReportAllocs()
	for b.Loop() {
		var bag diag.Bag
		if !vet.Check(p, cached.Of, vet.CheckOptions{BodiesOnly: true}, &bag) {
			b.Fatal(show(&bag))
		}
	}
}

func resource(p *program.Program, typ, name string) *program.Declaration {
	d, _ := p.Resource(addr.Resource{Mode: addr.Managed, Type: typ, Name: name})
	return d
}

func BenchmarkConfig(b *testing.B) {
	f := rootFrame(b, `
variable "v" { default = "x" }
locals { l = "${var.v}-y" }
resource "test_thing" "a" {
  count = 1000
  name  = "${local.l}-${count.index}"
  num   = count.index
  tags  = { a = "b", c = local.l }
  rule { a = "x" }
}`, frame.Options{})
	d := resource(f.Program(), "test_thing", "a").ID
	var bag diag.Bag
	f.Keys(d, frame.After, &bag)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if _, o := f.Config(d, addr.IntKey(i%1000), frame.After, &bag); o != frame.OK {
			b.Fatal(show(&bag))
		}
		i++
	}
}

func BenchmarkConfigConstant(b *testing.B) {
	f := rootFrame(b, `
resource "test_thing" "a" {
  name = "x"
  rule { a = "x" }
}`, frame.Options{})
	d := resource(f.Program(), "test_thing", "a").ID
	var bag diag.Bag
	b.ReportAllocs()
	for b.Loop() {
		if _, o := f.Config(d, addr.NoKey, frame.After, &bag); o != frame.OK {
			b.Fatal(show(&bag))
		}
	}
}

// BenchmarkCountToCount reads 5,000 instances from 5,000 other instances.
func BenchmarkCountToCount(b *testing.B) {
	for _, n := range []int{500, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := check(b, fmt.Sprintf(`
resource "test_thing" "a" { count = %[1]d }
resource "test_thing" "b" {
  count = %[1]d
  name  = test_thing.a[count.index].id
}`, n))
			a, d := resource(p, "test_thing", "a").ID, resource(p, "test_thing", "b").ID
			obj := mark.Plain(cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("x"), "name": cty.NullVal(cty.String)}))
			b.ReportAllocs()
			for b.Loop() {
				var bag diag.Bag
				f, _ := frame.New(p, frame.Options{}, &bag)
				for _, k := range f.Keys(a, frame.After, &bag).List {
					f.Put(a, k, frame.After, obj)
				}
				for _, k := range f.Keys(d, frame.After, &bag).List {
					if _, o := f.Config(d, k, frame.After, &bag); o != frame.OK {
						b.Fatal(show(&bag))
					}
				}
			}
		})
	}
}

// numbers returns the expression of local.range, the list of numbers below n. The function range alone is limited to
// fewer numbers.
func numbers(n int) string {
	return fmt.Sprintf("locals { range = flatten([for i in range(%d) : [for j in range(1000) : i * 1000 + j]]) }\n", n/1000)
}

// BenchmarkForEachInline evaluates a for_each expression once for all instances.
func BenchmarkForEachInline(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := check(b, numbers(n)+`
resource "test_thing" "a" {
  for_each = toset([for i in local.range : "k${i}"])
  name     = each.value
}`)
			d := resource(p, "test_thing", "a").ID
			b.ReportAllocs()
			for b.Loop() {
				var bag diag.Bag
				f, _ := frame.New(p, frame.Options{}, &bag)
				for _, k := range f.Keys(d, frame.After, &bag).List {
					if _, o := f.Config(d, k, frame.After, &bag); o != frame.OK {
						b.Fatal(show(&bag))
					}
				}
			}
		})
	}
}

func BenchmarkLocals(b *testing.B) {
	for _, n := range []int{5_000, 50_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := check(b, numbers(n)+`
locals {
  nums  = local.range
  names = [for i in local.nums : "n-${i}"]
  objs  = { for n in local.names : n => { name = n, up = upper(n) } if n != "" }
  flat  = flatten([for o in local.objs : [o.name, o.up]])
  keys  = sort(keys(local.objs))
  set   = toset(local.names)
  list  = tolist(local.names)
  pick  = length(local.flat) > 0 ? local.names : []
}
output "n" { value = length(local.flat) + length(local.keys) + length(local.set) + length(local.list) + length(local.pick) }`)
			b.ReportAllocs()
			for b.Loop() {
				var bag diag.Bag
				f, _ := frame.New(p, frame.Options{}, &bag)
				if _, o := f.Named(program.Output, "n", frame.After, &bag); o != frame.OK {
					b.Fatal(show(&bag))
				}
			}
		})
	}
}

// BenchmarkModules compiles and checks 500 calls of one module with 60 variables.
func BenchmarkModules(b *testing.B) {
	var text strings.Builder
	for i := range 500 {
		fmt.Fprintf(&text, "module \"m%d\" {\n  source = \"m\"\n", i)
		for v := range 60 {
			fmt.Fprintf(&text, "  v%d = \"a%d\"\n", v, v)
		}
		text.WriteString("}\n")
	}
	text.WriteString("-- m --\n")
	for v := range 60 {
		fmt.Fprintf(&text, "variable \"v%d\" { type = string }\n", v)
	}
	text.WriteString("resource \"test_thing\" \"a\" { name = \"${var.v1}${var.v2}\" }\noutput \"o\" { value = test_thing.a.id }\n")
	tree := load(b, text.String())
	b.ReportAllocs()
	for b.Loop() {
		var bag diag.Bag
		p, ok := Compile(tree, &bag)
		if !ok || !vet.Check(p, cached.Of, vet.CheckOptions{}, &bag) {
			b.Fatal(show(&bag))
		}
	}
}
