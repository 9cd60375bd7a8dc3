package main

import (
	"fmt"
	"strings"
)

// files has the texts of a configuration's files, keyed by path.
type files map[string]string

// shape returns a configuration of n objects, or of another size that the comment of the function names.
type shape func(n int) files

const required = `terraform {
  required_providers {
    bench = {
      source = "example.com/bench/bench"
    }
  }
}

`

// builder collects the text of one file.
type builder struct{ strings.Builder }

func (b *builder) add(format string, args ...any) { fmt.Fprintf(b, format, args...) }

// root returns a configuration of one file: the text of b after the requirement of the provider.
func root(b *builder) files { return files{"main.tf": required + b.String()} }

// empty is an empty configuration for every n.
func empty(int) files { return files{"main.tf": ""} }

// single is one resource for every n.
func single(int) files { return blocks(1) }

// count is one resource with n instances.
func count(n int) files {
	var b builder
	b.add("resource \"bench_item\" \"r\" {\n  count = %d\n  name  = \"item-${count.index}\"\n}\n", n)
	return root(&b)
}

// sensitive is n objects, of which every tenth has a sensitive value that no other object has.
func sensitive(n int) files {
	var b builder
	b.add("resource \"bench_item\" \"r\" {\n  count = %d\n  name  = \"item-${count.index}\"\n}\n", n-n/10)
	b.add("resource \"bench_item\" \"s\" {\n  count = %d\n  name  = sensitive(sha1(\"secret-${count.index}\"))\n}\n", n/10)
	return root(&b)
}

// inRounds is n objects in five rounds: the number of objects of a round is known after the round before it.
func inRounds(n int) files {
	var b builder
	b.add("resource \"bench_item\" \"r0\" {\n  count = %d\n  name  = \"item-${count.index}\"\n}\n", n/5)
	for i := 1; i < 5; i++ {
		b.add("resource \"bench_item\" \"r%d\" {\n  count = length(bench_item.r%d[0].id) > 0 ? %d : 0\n  name  = \"item-${count.index}\"\n}\n", i, i-1, n/5)
	}
	return root(&b)
}

// blocks is n resources with one instance each.
func blocks(n int) files {
	var b builder
	for i := range n {
		b.add("resource \"bench_item\" \"r%d\" {\n  name = \"item-%d\"\n}\n", i, i)
	}
	return root(&b)
}

// eachOfMap is a resource that is repeated over a local map of n objects.
func eachOfMap(n int) files {
	var b builder
	b.add("locals {\n  items = {\n")
	for i := range n {
		b.add("    key-%d = { name = \"item-%d\", size = %d }\n", i, i, i)
	}
	b.add("  }\n}\nresource \"bench_item\" \"r\" {\n  for_each = local.items\n  name     = \"${each.value.name}-${each.value.size}\"\n}\n")
	return root(&b)
}

// eachOfSet is a resource that is repeated over a set of n strings, which an expression in the block computes.
func eachOfSet(n int) files {
	var b builder
	b.add("resource \"bench_item\" \"r\" {\n  for_each = toset([for i in range(%d) : \"key-${i}\"])\n  name     = each.key\n}\n", n)
	return root(&b)
}

// chain is a sequence of n resources, each of which refers to the one before it.
func chain(n int) files {
	var b builder
	before := `"first"`
	for i := range n {
		b.add("resource \"bench_item\" \"r%d\" {\n  name = %s\n}\n", i, before)
		before = fmt.Sprintf("bench_item.r%d.name", i)
	}
	return root(&b)
}

// layers is n resources in ten layers. Each resource above the lowest layer refers to three resources of the layer
// below it.
func layers(n int) files {
	var b builder
	width := max(1, n/10)
	for i := range n {
		layer, place := i/width, i%width
		if layer == 0 {
			b.add("resource \"bench_item\" \"l0_%d\" {\n  name = \"item-%d\"\n}\n", place, place)
			continue
		}
		var refs []string
		for j := range 3 {
			refs = append(refs, fmt.Sprintf("bench_item.l%d_%d.id", layer-1, (5*place+11*j)%width))
		}
		b.add("resource \"bench_item\" \"l%d_%d\" {\n  refs = [%s]\n}\n", layer, place, strings.Join(refs, ", "))
	}
	return root(&b)
}

// modules is n/10 calls of a module with a chain of ten resources. Ten calls in sequence pass a value on.
func modules(n int) files {
	var module, b builder
	module.add("variable \"in\" {\n  type = string\n}\n")
	before := "var.in"
	for i := range 10 {
		module.add("resource \"bench_item\" \"r%d\" {\n  name = %s\n}\n", i, before)
		before = fmt.Sprintf("bench_item.r%d.id", i)
	}
	module.add("output \"out\" {\n  value = %s\n}\n", before)
	for i := range n / 10 {
		in := `"first"`
		if i%10 != 0 {
			in = fmt.Sprintf("module.m%d.out", i-1)
		}
		b.add("module \"m%d\" {\n  source = \"./ten\"\n  in     = %s\n}\n", i, in)
	}
	out := root(&b)
	out["ten/main.tf"] = required + module.String()
	return out
}

// nested is a root module with three levels of modules below it, and ten resources in each innermost module. n must be
// a multiple of 1,000.
func nested(n int) files {
	const in = "variable \"in\" {\n  type = string\n}\n"
	call := func(name, source, in string) string {
		return fmt.Sprintf("module %q {\n  source = %q\n  in     = %s\n}\n", name, source, in)
	}
	var top, second, third, inner builder
	for i := range 5 {
		top.add("%s", call(fmt.Sprintf("a%d", i), "./second", fmt.Sprintf(`"top-%d"`, i)))
		second.add("%s", call(fmt.Sprintf("b%d", i), "../third", "var.in"))
	}
	for i := range 4 {
		third.add("module \"c%d\" {\n  source = \"../inner\"\n  count  = %d\n  in     = \"${var.in}-${count.index}\"\n}\n", i, max(1, n/1000))
	}
	for i := range 10 {
		inner.add("resource \"bench_item\" \"r%d\" {\n  name = var.in\n}\n", i)
	}
	out := root(&top)
	out["second/main.tf"] = required + in + second.String()
	out["third/main.tf"] = required + in + third.String()
	out["inner/main.tf"] = required + in + inner.String()
	return out
}

// pairs is two repeated resources of n/2 instances. Each instance of the second refers to one of the first.
func pairs(n int) files {
	var b builder
	b.add("resource \"bench_item\" \"a\" {\n  count = %d\n  name  = \"a-${count.index}\"\n}\n", n/2)
	b.add("resource \"bench_item\" \"b\" {\n  count = %d\n  name  = bench_item.a[count.index].id\n}\n", n/2)
	return root(&b)
}

// outputs is one resource and n outputs.
func outputs(n int) files {
	var b builder
	b.add("resource \"bench_item\" \"r\" {\n  name = \"item\"\n}\n")
	for i := range n {
		b.add("output \"o%d\" {\n  value = \"${bench_item.r.id}-%d\"\n}\n", i, i)
	}
	return root(&b)
}

// wideBody is the body of a resource of type bench_wide with about half of its arguments and two nested blocks. name is
// the expression of the argument name.
func wideBody(name string) string {
	var b builder
	b.add("  name = %s\n", name)
	for i := range 38 {
		switch i % 8 {
		case 0:
			b.add("  argument_%02d = \"a value of some length, number %d\"\n", i, i)
		case 2:
			b.add("  argument_%02d = [\"one\", \"two\", \"three\"]\n", i)
		case 3:
			b.add("  argument_%02d = true\n", i)
		case 5:
			b.add("  argument_%02d = \"value-%d\"\n", i, i)
		}
	}
	b.add("  network {\n    option_0 = \"inner\"\n    option_1 = \"outer\"\n  }\n  storage {\n    option_0 = \"fast\"\n  }\n")
	return b.String()
}

// wideCount is one resource of type bench_wide with n instances.
func wideCount(n int) files {
	var b builder
	b.add("resource \"bench_wide\" \"r\" {\n  count = %d\n%s}\n", n, wideBody(`"item-${count.index}"`))
	return root(&b)
}

// wideBlocks is n resources of type bench_wide.
func wideBlocks(n int) files {
	var b builder
	for i := range n {
		b.add("resource \"bench_wide\" \"r%d\" {\n%s}\n", i, wideBody(fmt.Sprintf(`"item-%d"`, i)))
	}
	return root(&b)
}

// leases is n ephemeral resources, each with a resource whose write-only argument receives its value.
func leases(n int) files {
	var b builder
	for i := range n {
		b.add("ephemeral \"bench_secret\" \"e%d\" {\n  name = \"e-%d\"\n}\n", i, i)
		b.add("resource \"bench_item\" \"r%d\" {\n  name              = \"item-%d\"\n  secret_wo         = ephemeral.bench_secret.e%d.value\n  secret_wo_version = 1\n}\n", i, i, i)
	}
	return root(&b)
}

// dataCount is one data source with n instances.
func dataCount(n int) files {
	var b builder
	b.add("data \"bench_item\" \"d\" {\n  count = %d\n  name  = \"item-${count.index}\"\n}\n", n)
	return root(&b)
}

// dataBlocks is n data sources with one instance each.
func dataBlocks(n int) files {
	var b builder
	for i := range n {
		b.add("data \"bench_item\" \"d%d\" {\n  name = \"item-%d\"\n}\n", i, i)
	}
	return root(&b)
}

// locals is maps and for expressions over n elements, rounded up to thousands, and the functions that people use with
// them. It nests range, which returns at most 1,024 elements.
func locals(n int) files {
	return files{"main.tf": fmt.Sprintf(`locals {
  numbers = flatten([for thousand in range(%d) : [for i in range(1000) : thousand * 1000 + i]])
  objects = { for i in local.numbers : "key-${i}" => { id = i, name = "name-${i}", tags = { owner = "team-${i}", stage = "live" } } }
  even    = { for key, o in local.objects : key => o.name if o.id %% 2 == 0 }
  groups  = { for key, o in local.objects : o.id %% 100 => key... }
  merged  = merge(local.even, { for key, o in local.objects : key => upper(o.name) })
  text    = jsonencode(local.objects)
  lines   = join("\n", [for key, o in local.objects : "${key}=${o.name}:${o.tags.owner}"])
  sorted  = sort(keys(local.objects))
  back    = jsondecode(local.text)
}
output "merged" {
  value = length(local.merged)
}
output "groups" {
  value = length(local.groups)
}
output "text" {
  value = sha256(local.text)
}
output "lines" {
  value = sha256(local.lines)
}
output "first" {
  value = local.sorted[0]
}
output "back" {
  value = local.back["key-7"].name
}
`, (n+999)/1000)}
}

// large is an attribute of n MiB from a file. If lease is set, there is also a lease, so the guard searches the
// attribute for its secret.
func large(n int, lease bool) files {
	var text, b builder
	for i := 0; text.Len() < n<<20; i++ {
		text.add("line %d of a certificate, a script or a policy, %x\n", i, i*2654435761)
	}
	b.add("resource \"bench_item\" \"large\" {\n  text = file(\"${path.module}/large.txt\")\n}\n")
	out := root(&b)
	out["large.txt"] = text.String()
	if lease {
		out["lease.tf"] = strings.TrimPrefix(leases(1)["main.tf"], required)
	}
	return out
}

func largeAlone(n int) files { return large(n, false) }
func largeLease(n int) files { return large(n, true) }

// variables is n calls of a module with 60 variables and one resource.
func variables(n int) files {
	var module, b builder
	for i := range 60 {
		module.add("variable \"v%d\" {\n  type    = string\n  default = \"default-%d\"\n}\n", i, i)
	}
	module.add("resource \"bench_item\" \"r\" {\n  name = \"${var.v0}-${var.v59}\"\n  tags = { first = var.v1, second = var.v2 }\n}\n")
	for i := range n {
		b.add("module \"m%d\" {\n  source = \"./sixty\"\n", i)
		for j := range 60 {
			b.add("  v%d = \"value-%d-%d\"\n", j, i, j)
		}
		b.add("}\n")
	}
	out := root(&b)
	out["sixty/main.tf"] = required + module.String()
	return out
}

// runs is a test file with n runs that apply one resource.
func runs(n int) files {
	out := single(1)
	var b builder
	for i := range n {
		b.add("run \"r%d\" {\n  assert {\n    condition     = bench_item.r0.name == \"item-0\"\n    error_message = \"wrong\"\n  }\n}\n", i)
	}
	out["all.tftest.hcl"] = b.String()
	return out
}
