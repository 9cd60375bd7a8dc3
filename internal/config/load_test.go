package config

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"
)

// mustLoad loads a module from files and fails on errors.
func mustLoad(t interface {
	Helper()
	Fatalf(string, ...any)
}, files Memory) *Module {
	t.Helper()
	var bag diag.Bag
	m, ok := Load(".", Options{Files: files}, nil, &bag)
	if !ok {
		t.Fatalf("loading: %v", bag.List())
	}
	return m
}

func one(text string) Memory { return Memory{"main.tf": []byte(text)} }

// TestSameMeaning checks that two arrangements of the same declarations result in equal modules.
func TestSameMeaning(t *testing.T) {
	tests := map[string]struct{ a, b Memory }{
		"byte order mark": {
			Memory{"main.tf": []byte("\ufeffvariable \"x\" {}\n"), "m.tf.json": []byte("\ufeff{}")},
			Memory{"main.tf": []byte("variable \"x\" {}\n"), "m.tf.json": []byte("{}")},
		},
		"line ends": {one("locals {\r\n  a = \"x\"\r\n}\r\n"), one("locals {\n  a = \"x\"\n}\n")},
		"composed letters": {
			one("variable \"x\" {\n  default = \"e\u0301\"\n}\n"),
			one("variable \"x\" {\n  default = \"\u00e9\"\n}\n"),
		},
		"override arguments": {
			Memory{
				"main.tf":     []byte("resource \"x_y\" \"z\" {\n  a = 1\n  b = 2\n  disk {\n    a = 1\n  }\n  disk {\n    a = 2\n  }\n}\n"),
				"override.tf": []byte("resource \"x_y\" \"z\" {\n  b = 3\n  disk {\n    a = 4\n  }\n}\n"),
			},
			one("resource \"x_y\" \"z\" {\n  a = 1\n  b = 3\n  disk {\n    a = 4\n  }\n}\n"),
		},
		"override dynamic blocks": {
			Memory{
				"main.tf":     []byte("resource \"x_y\" \"z\" {\n  disk {\n    a = 1\n  }\n}\n"),
				"override.tf": []byte("resource \"x_y\" \"z\" {\n  dynamic \"disk\" {\n    for_each = [1]\n    content {}\n  }\n}\n"),
			},
			one("resource \"x_y\" \"z\" {\n  dynamic \"disk\" {\n    for_each = [1]\n    content {}\n  }\n}\n"),
		},
		"override lifecycle": {
			Memory{
				"main.tf":     []byte("resource \"x_y\" \"z\" {\n  lifecycle {\n    ignore_changes = [a]\n    prevent_destroy = true\n    precondition {\n      condition = var.x\n      error_message = \"X.\"\n    }\n  }\n}\n"),
				"override.tf": []byte("resource \"x_y\" \"z\" {\n  lifecycle {\n    ignore_changes = [b]\n    create_before_destroy = true\n  }\n}\n"),
			},
			one("resource \"x_y\" \"z\" {\n  lifecycle {\n    ignore_changes = [b]\n    prevent_destroy = true\n    create_before_destroy = true\n    precondition {\n      condition = var.x\n      error_message = \"X.\"\n    }\n  }\n}\n"),
		},
		"override provisioners and connection": {
			Memory{
				"main.tf":     []byte("resource \"x_y\" \"z\" {\n  connection {\n    a = 1\n    b = 2\n  }\n  provisioner \"file\" {}\n  provisioner \"local-exec\" {\n    command = 1\n  }\n}\n"),
				"override.tf": []byte("resource \"x_y\" \"z\" {\n  connection {\n    a = 3\n  }\n  provisioner \"local-exec\" {\n    command = 2\n  }\n}\n"),
			},
			one("resource \"x_y\" \"z\" {\n  connection {\n    a = 3\n  }\n  provisioner \"local-exec\" {\n    command = 2\n  }\n}\n"),
		},
		"override twice, in order": {
			Memory{
				"main.tf":       []byte("locals {\n  a = 1\n  b = 1\n}\nvariable \"v\" {\n  default = 1\n}\n"),
				"a_override.tf": []byte("locals {\n  a = 2\n  b = 2\n}\nvariable \"v\" {\n  default = 2\n}\n"),
				"b_override.tf": []byte("locals {\n  b = 3\n}\nvariable \"v\" {\n  default = 3\n}\n"),
			},
			one("locals {\n  a = 2\n  b = 3\n}\nvariable \"v\" {\n  default = 3\n}\n"),
		},
		"override repetition": {
			Memory{
				"main.tf":     []byte("resource \"x_y\" \"z\" {\n  count = 2\n}\nmodule \"m\" {\n  source = \"./m\"\n  for_each = {}\n}\n"),
				"override.tf": []byte("resource \"x_y\" \"z\" {\n  for_each = {}\n}\nmodule \"m\" {\n  count = 1\n}\n"),
			},
			one("resource \"x_y\" \"z\" {\n  for_each = {}\n}\nmodule \"m\" {\n  source = \"./m\"\n  count = 1\n}\n"),
		},
		"override module, output, provider": {
			Memory{
				"main.tf":     []byte("module \"m\" {\n  source = \"./m\"\n  a = 1\n  b = 1\n}\noutput \"o\" {\n  value = 1\n  description = \"x\"\n}\nprovider \"p\" {\n  alias = \"q\"\n  a = 1\n  b = 1\n}\n"),
				"override.tf": []byte("module \"m\" {\n  source = \"./n\"\n  b = 2\n}\noutput \"o\" {\n  value = 2\n}\nprovider \"p\" {\n  alias = \"q\"\n  b = 2\n}\n"),
			},
			one("module \"m\" {\n  source = \"./n\"\n  a = 1\n  b = 2\n}\noutput \"o\" {\n  value = 2\n  description = \"x\"\n}\nprovider \"p\" {\n  alias = \"q\"\n  a = 1\n  b = 2\n}\n"),
		},
		"override settings": {
			Memory{
				"main.tf":     []byte("terraform {\n  required_version = \">= 1\"\n  required_providers {\n    a = { source = \"x/a\", version = \"1\" }\n    b = { source = \"x/b\" }\n  }\n  backend \"local\" {\n    path = 1\n  }\n}\n"),
				"override.tf": []byte("terraform {\n  required_version = \">= 1.1\"\n  required_providers {\n    a = { source = \"y/a\" }\n    c = { source = \"x/c\" }\n  }\n  cloud {\n  }\n}\n"),
			},
			one("terraform {\n  required_version = \">= 1.1\"\n  required_providers {\n    a = { source = \"y/a\" }\n    b = { source = \"x/b\" }\n    c = { source = \"x/c\" }\n  }\n  cloud {\n  }\n}\n"),
		},
		"override native with json": {
			Memory{
				"main.tf":          []byte("resource \"x_y\" \"z\" {\n  a = 1\n  b = 2\n  disk {\n    a = 1\n  }\n  lifecycle {\n    ignore_changes = [a]\n    prevent_destroy = true\n  }\n}\n"),
				"override.tf.json": []byte(`{"resource": {"x_y": {"z": {"b": 3, "disk": [{"a": 4}], "lifecycle": {"ignore_changes": ["b"]}}}}}`),
			},
			one("resource \"x_y\" \"z\" {\n  a = 1\n  b = 3\n  disk {\n    a = 4\n  }\n  lifecycle {\n    ignore_changes = [b]\n    prevent_destroy = true\n  }\n}\n"),
		},
		"override json with native": {
			Memory{
				"main.tf.json": []byte(`{"resource": {"x_y": {"z": {"a": 1, "b": 2, "disk": [{"a": 1}], "provisioner": {"file": {}}}}}}`),
				"override.tf":  []byte("resource \"x_y\" \"z\" {\n  b = 3\n  provisioner \"local-exec\" {\n    command = 2\n  }\n}\n"),
			},
			one("resource \"x_y\" \"z\" {\n  a = 1\n  b = 3\n  disk {\n    a = 1\n  }\n  provisioner \"local-exec\" {\n    command = 2\n  }\n}\n"),
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(dump(mustLoad(t, tt.b)), dump(mustLoad(t, tt.a))); d != "" {
				t.Errorf("(-second +first)\n%s", d)
			}
		})
	}
}

// TestEscape checks that arguments with any name, including meta-arguments, can be in an escape block.
func TestEscape(t *testing.T) {
	for name, files := range map[string]Memory{
		"native": one("resource \"x_y\" \"z\" {\n  count = 1\n  a = 1\n  lifecycle {}\n  _ {\n    count = 2\n    disk {\n      a = 1\n    }\n  }\n}\n"),
		"json":   {"main.tf.json": []byte(`{"resource": {"x_y": {"z": {"count": 1, "a": 1, "lifecycle": {}, "_": {"count": 2, "disk": {"a": 1}}}}}}`)},
	} {
		t.Run(name, func(t *testing.T) {
			r := mustLoad(t, files).Resources[Name{addr.Managed, "x_y", "z"}]
			d := &dumper{}
			d.line("count=%s", show(r.Count))
			d.body(r.Body)
			want := "count=cty.NumberIntVal(1)\n    a = cty.NumberIntVal(1)\n    count = cty.NumberIntVal(2)\n    disk \n      a = cty.NumberIntVal(1)\n"
			if diff := cmp.Diff(want, d.b.String()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestRequirements(t *testing.T) {
	m := mustLoad(t, one(`
terraform {
  required_providers {
    plain = "~> 1.0"
    named = { source = "corp/thing", version = ">= 2" }
    host  = { source = "Registry.Example.com/corp/thing2" }
    short = { source = "aws" }
  }
}
resource "used_thing" "x" {}
resource "terraform_data" "x" {}
resource "used_thing" "y" { provider = other.alias }
provider "block" {}
`))
	type want struct {
		source        string
		host, implied bool
	}
	got := map[string]want{}
	for local, r := range m.Required {
		got[local] = want{r.Source.String(), r.HostGiven, r.Range.Filename == ""}
	}
	d := cmp.Diff(map[string]want{
		"plain":     {addr.DefaultHost + "/hashicorp/plain", false, false},
		"named":     {addr.DefaultHost + "/corp/thing", false, false},
		"host":      {"registry.example.com/corp/thing2", true, false},
		"short":     {addr.DefaultHost + "/hashicorp/aws", false, false},
		"used":      {addr.DefaultHost + "/hashicorp/used", false, true},
		"terraform": {"terraform.io/builtin/terraform", false, true},
		"other":     {addr.DefaultHost + "/hashicorp/other", false, true},
		"block":     {addr.DefaultHost + "/hashicorp/block", false, true},
	}, got, cmp.AllowUnexported(want{}))
	if d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestVariableTypes(t *testing.T) {
	m := mustLoad(t, one(`
variable "a" {}
variable "b" { type = list }
variable "c" {
  type    = object({ x = optional(number, 5), y = optional(list(string)), z = string })
  default = { z = 1 }
}
variable "d" {
  type    = number
  default = null
}
variable "e" { default = ["x", 1] }
`))
	def := func(n string) cty.Value { return m.Variables[n].Default }
	if def("a") != cty.NilVal || m.Variables["a"].TypeGiven || !m.Variables["a"].Nullable {
		t.Error("a")
	}
	if !m.Variables["b"].Type.Equals(cty.List(cty.DynamicPseudoType)) {
		t.Error("b")
	}
	want := cty.ObjectVal(map[string]cty.Value{"x": cty.NumberIntVal(5), "y": cty.NullVal(cty.List(cty.String)), "z": cty.StringVal("1")})
	if !def("c").RawEquals(want) || m.Variables["c"].Defaults == nil {
		t.Errorf("c: %#v", def("c"))
	}
	if !def("d").RawEquals(cty.NullVal(cty.Number)) {
		t.Errorf("d: %#v", def("d"))
	}
	if !def("e").RawEquals(cty.TupleVal([]cty.Value{cty.StringVal("x"), cty.NumberIntVal(1)})) {
		t.Errorf("e: %#v", def("e"))
	}
}

func TestFromMemory(t *testing.T) {
	files := Memory{"main.tf": []byte(`module "a" { source = "./a" }`), "a/main.tf": []byte(`variable "x" {}`)}
	var bag diag.Bag
	tree, ok := LoadTree(".", Options{Files: files}, localSources(files), &bag)
	if !ok || tree.Root.Children["a"].Module.Variables["x"] == nil {
		t.Errorf("%v", bag.List())
	}
	if string(tree.Sources.Get("a/main.tf")) != `variable "x" {}` {
		t.Error("the source is not kept")
	}
}

func TestFromDisk(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "main.tf", "module \"a\" { source = \"./a\" }\nmodule \"b\" { source = \"./a\" }\n")
	write(t, dir, "a/main.tf", "variable \"x\" {}\n")
	write(t, dir, "a/b.tf/nothing.tf", "nonsense")
	var bag diag.Bag
	o := Options{Display: func(p string) string { return strings.TrimPrefix(filepath.ToSlash(strings.TrimPrefix(p, dir)), "/") }}
	tree, ok := LoadTree(dir, o, localSources(Disk), &bag)
	if !ok {
		t.Fatalf("%v", bag.List())
	}
	a, b := tree.Root.Children["a"], tree.Root.Children["b"]
	if a.Module != b.Module {
		t.Error("a directory was read twice")
	}
	if a.Path.String() != "module.a" || a.Call == nil || a.Parent != tree.Root || a.Source != "./a" {
		t.Errorf("%+v", a)
	}
	if r := a.Module.Variables["x"].Range; r.Filename != "a/main.tf" {
		t.Errorf("%v", r)
	}
}

// TestVersionsOfWhatIsBroken checks that version constraints are found in files that cannot be parsed.
func TestVersionsOfWhatIsBroken(t *testing.T) {
	files := Memory{
		"broken.tf":  []byte("resource {{{ \n"),
		"main.tf":    []byte("terraform {\n  required_version = \">= 1.5\"\n  unknown {}\n}\nlanguage {\n  compatible_with {\n    opentofu = \">= 1.9\"\n    other = \"x\"\n  }\n}\n"),
		"m.tf.json":  []byte(`{"terraform": {"required_version": "< 9"}}`),
		"skipped.md": []byte("terraform { required_version = \"1\" }"),
	}
	var bag diag.Bag
	m, _ := Load(".", Options{Files: files}, nil, &bag)
	got := m.Version
	if d := cmp.Diff(">= 1.9;>= 1.5;< 9", texts(got)); (d != "" && texts(got) != "< 9;>= 1.5;>= 1.9" && texts(got) != "< 9;>= 1.9;>= 1.5") && len(got) != 3 {
		t.Error(texts(got))
	}
}

// TestBombs checks that a text that would need too much time or memory is refused fast, with one message.
func TestBombs(t *testing.T) {
	r := strings.Repeat
	tests := map[string]struct {
		file, text, title string
	}{
		"parentheses":       {"main.tf", "locals {\n  a = " + r("(", 100_000) + "1" + r(")", 100_000) + "\n}\n", "Configuration nested too deeply"},
		"json":              {"main.tf.json", r("[", 1_000_000) + r("]", 1_000_000), "Configuration nested too deeply"},
		"json objects":      {"main.tf.json", r(`{"a":`, 1_000_000), "Configuration nested too deeply"},
		"json closed wrong": {"main.tf.json", r("[}", 100_000), "Missing JSON value"},
		"json template":     {"main.tf.json", `{"locals": {"a": "${` + r("[", 100_000) + `}"}}`, "Configuration nested too deeply"},
		"json hidden":       {"main.tf.json", `{"locals": {"a": "\u0024\u007b` + r("[", 100_000) + `}"}}`, "Configuration nested too deeply"},
		"json type":         {"main.tf.json", `{"variable": {"a": {"type": "` + r("list(", 100_000) + `"}}}`, "Invalid type specification"},
		"json reference":    {"main.tf.json", `{"output": {"a": {"value": 1, "depends_on": ["` + r("(", 100_000) + `"]}}}`, "Invalid expression"},
		"json number":       {"main.tf.json", `{"locals": {"a": 1e999999999}}`, "Number literal too large"},
		"types":             {"main.tf", "variable \"a\" {\n  type = " + r("list(", 100_000) + "any" + r(")", 100_000) + "\n}\n", "Configuration nested too deeply"},
		"negations":         {"main.tf", "locals {\n  a = " + r("!", 1_000_000) + "true\n}\n", "Expression too long"},
		"sums":              {"main.tf", "locals {\n  a = 1" + r("+1", 200_000) + "\n}\n", "Expression too long"},
		"digits":            {"main.tf", "locals {\n  a = " + r("9", 10_000_000) + "\n}\n", "Number literal too long"},
		"open comments":     {"main.tf", r("/* ", 1_000_000), "Unterminated comment"},
		"a million variables": {"main.tf", func() string {
			var b strings.Builder
			for i := range 1_000_000 {
				fmt.Fprintf(&b, "variable \"v%d\" {}\n", i)
			}
			return b.String()
		}(), "Configuration file too large"},
		"loops in a default": {"main.tf", "variable \"a\" {\n  default = [for a in [" + r("1,", 1000) + "] : [for b in [" + r("1,", 1000) + "] : [for c in [" + r("1,", 1000) + "] : \"${a}\"]]]\n}\n", "Constant expression too large"},
		"loops in a type":    {"main.tf", "variable \"a\" {\n  type = object({ a = optional(any, [for a in [" + r("1,", 1000) + "] : [for b in [" + r("1,", 1000) + "] : [for c in [" + r("1,", 1000) + "] : \"${a}\"]]]) })\n}\n", "Constant expression too large"},
		"defaults in a type": {"main.tf", "variable \"a\" {\n  type = object({ a = optional(list(any), [" + r("{ a = 1 },", 100_000) + "]) })\n}\n", "Constant expression too large"},
		"powers":             {"main.tf", "variable \"a\" {\n  type = string\n  default = 1e9999" + r("*1e9999", 4000) + "\n}\n", "Invalid default value for variable"},
		"encoding":           {"main.tf", "variable \"\xe9\" {}\n", "Invalid character encoding"},
		"UTF-16":             {"main.tf", "\xff\xfel\x00o\x00", "Invalid character encoding"},
		"UTF-16 JSON":        {"main.tf.json", "\xfe\xff\x00{\x00}", "Invalid character encoding"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			var bag diag.Bag
			_, ok := Load(".", Options{Files: Memory{tt.file: []byte(tt.text)}}, nil, &bag)
			list := bag.List()
			if ok || len(list) != 1 || list[0].Summary != tt.title {
				t.Errorf("ok=%v, %d messages: %.500v", ok, len(list), list)
			}
			if took := time.Since(start); took > time.Minute { // a limit that only a hanging test reaches
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestTreeBombs(t *testing.T) {
	files := Memory{}
	for i := range 40 {
		files[fmt.Sprintf("m%d/main.tf", i)] = fmt.Appendf(nil, "module \"a\" { source = \"../m%d\" }\nmodule \"b\" { source = \"../m%d\" }\n", i+1, i+1)
	}
	files["m40/main.tf"] = nil
	tests := map[string]struct {
		limits limits.Limits
		title  string
	}{
		"doubling": {limits.Limits{Instances: 10_000}, "Too many modules"},
		"depth":    {limits.Limits{Nesting: 5}, "Modules nested too deeply"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var bag diag.Bag
			_, ok := LoadTree("m0", Options{Files: files, Limits: tt.limits}, localSources(files), &bag)
			if ok || !strings.Contains(render(&bag, ok), tt.title) {
				t.Errorf("%v %.500s", ok, render(&bag, ok))
			}
		})
	}
}

func TestFileLimits(t *testing.T) {
	var bag diag.Bag
	o := Options{Files: one("variable \"a\" {}\n"), Limits: limits.Limits{Bytes: 5}}
	if _, ok := Load(".", o, nil, &bag); ok || bag.List()[0].Summary != "Configuration file too large" {
		t.Errorf("%v", bag.List())
	}
}

// TestSyntaxesAgree checks that the same declarations in both syntaxes result in equal modules.
func TestSyntaxesAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		decls := rapid.SliceOfN(rapid.Custom(randomDecl), 1, 6).Draw(t, "declarations")
		native, js := render2(decls)
		a := mustLoad(t, Memory{"main.tf": []byte(native)})
		b := mustLoad(t, Memory{"main.tf.json": []byte(js)})
		if d := cmp.Diff(dump(a), dump(b)); d != "" {
			t.Fatalf("%s\n%s\n(-native +json)\n%s", native, js, d)
		}
	})
}
