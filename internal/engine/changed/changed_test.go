package changed

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/engine/enginetest"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/store"
)

const root = `
variable "v" {}
variable "w" {}
locals {
  l = [var.v]
  n = file("x")
}
provider "x" {
  a = x_base.p.id
}
resource "y_one" "a" {
  a = local.l
}
resource "y_one" "b" {
  a = y_one.a.id
}
# about c
resource "y_one" "c" {
  a = 1
}
resource "y_one" "read" {
  a = local.n
}
resource "y_base" "p" {}
resource "x_base" "p" {
  provider = y
}
resource "x_all" "d" {}
data "y_data" "d" {
  a = y_one.c.id
}
module "m" {
  source   = "./m"
  for_each = toset(["a"])
  x        = var.w
}
provider "y" {
  alias    = "by"
  for_each = toset(["a", "b"])
}
module "keyed" {
  source    = "./keyed"
  providers = { y = y.by["a"] }
}
output "o" {
  value = [y_one.c.id, y_base.p.id]
}
check "c" {
  assert {
    condition     = y_one.c.id != y_one.i.id
    error_message = "none"
  }
}
resource "y_one" "i" {}
ephemeral "y_one" "e" {
  a = y_one.i.id
}
check "leased" {
  assert {
    condition     = ephemeral.y_one.e.id != y_one.k.id
    error_message = "none"
  }
}
resource "y_one" "k" {}
`

var files = map[string]string{"main.tf": root, "m/main.tf": "variable \"x\" {}\nresource \"y_one\" \"i\" {\n  a = var.x\n}\nresource \"y_one\" \"k\" {}\n", "keyed/main.tf": "resource \"y_one\" \"i\" {}\n"}

// stamps returns the stamps (digests of the sources of each resource) of the configuration files. The parameter other
// names a variable or provider that has changed.
func stamps(t *testing.T, files map[string]string, other string) *Stamps {
	return New(Request{
		Program: enginetest.Program(t, files),
		Version: func(p addr.Provider) (string, bool) {
			if p.Type == other {
				return "2", true
			}
			return "1", other != "rebuilt "+p.Type
		},
		Variable: func(name string) string {
			if name == other {
				return "2"
			}
			return "1"
		},
	})
}

func TestReach(t *testing.T) {
	edit := func(file, from, to string) map[string]string {
		out := maps.Clone(files)
		out[file] = strings.Replace(out[file], from, to, 1)
		if out[file] == files[file] {
			t.Fatal(from)
		}
		return out
	}
	was := stamps(t, files, "")
	// A resource that reads a file is always planned.
	for _, c := range []struct {
		what, other string
		files       map[string]string
		more, want  string
	}{
		{"nothing", "", files, "", ""},
		{"a variable, through a local", "v", files, "", "y_one.a y_one.b"},
		{"a variable of a module", "w", files, "", "module.m.y_one.i"},
		{"a comment", "", edit("main.tf", "# about c", "# about c, and more"), "", ""},
		{"a block", "", edit("main.tf", "a = 1", "a = 2"), "", "data.y_data.d y_base.p y_one.c y_one.i"},
		{"a check", "", edit("main.tf", "y_one.c.id != y_one.i.id", "y_one.i.id != 1"), "", "y_one.i"},
		{"a block of a module", "", edit("m/main.tf", "y_one\" \"k\" {", "y_one\" \"k\" {\n  a = 1\n"), "", "module.m.y_one.k"},
		{"a repetition", "", edit("main.tf", `toset(["a"])`, `toset(["b"])`), "", "module.m.y_one.i module.m.y_one.k"},
		{"the key of a provider that a module receives", "", edit("main.tf", `y.by["a"]`, `y.by["b"]`), "", "module.keyed.y_one.i"},
		{"an output", "", edit("main.tf", "[y_one.c.id, y_base.p.id]", "[y_one.b.id]"), "", "y_one.b"},
		{"what is declared no more", "", edit("main.tf", "resource \"x_all\" \"d\" {}\n", ""), "", "x_all.d"},
		{"what is to be replaced", "", files, "x_all.d", "x_all.d"},
		{"the version of a provider", "x", files, "", "x_all.d"},
		{"the source of a provider", "", edit("main.tf", "variable \"v\" {}", "terraform {\n required_providers {\n  x = { source = \"other/x\" }\n }\n}\nvariable \"v\" {}"), "", "x_all.d"},
		{"a provider under development", "rebuilt x", files, "", "x_all.d"},
		{"provider_meta", "", edit("m/main.tf", "variable \"x\" {}", "terraform {\n provider_meta \"y\" {\n  a = 1\n }\n}\nvariable \"x\" {}"), "", "module.m.y_one.i module.m.y_one.k"},
	} {
		now := stamps(t, c.files, c.other)
		r := &store.Review{Same: map[string]bool{}}
		for name, s := range was.Known {
			if !strings.HasPrefix(name, store.OutputStamp("")) {
				r.Resources = append(r.Resources, name)
			}
			r.Same[name] = reflect.DeepEqual(s, now.Known[name])
		}
		var more []addr.Resource
		if c.more != "" {
			more = append(more, enginetest.Instance(t, c.more).Resource())
		}
		reach, err := now.Reach(r, more)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, target := range reach.Targets {
			if target.String() != "y_one.read" {
				got = append(got, target.String())
			}
		}
		if s := strings.Join(got, " "); s != c.want || reach.Whole {
			t.Errorf("%s: planned is %q, want %q", c.what, s, c.want)
		}
		p := &plan.Plan{Mode: plan.Normal, Part: reach.Part, Changed: true, Request: plan.Request{Targets: reach.Targets}}
		for name := range now.Settled(p, nil) {
			if !strings.HasPrefix(name, store.OutputStamp("")) && !strings.Contains(" "+c.want+" ", " "+name+" ") {
				t.Errorf("%s: %s is settled", c.what, name)
			}
		}
	}
	if reach, err := was.Reach(&store.Review{}, nil); err != nil || !reach.Whole {
		t.Errorf("where nothing is known: %v %v", reach, err)
	}
	if got := was.Settled(&plan.Plan{Mode: plan.Normal, Request: plan.Request{Targets: []addr.Target{{}}}}, nil); len(got) > 0 {
		t.Errorf("after -target: %v", got)
	}
}

// varies finds calls of functions with varying results, such as file, in every form that HCL permits. It finds no other
// text.
func TestVaries(t *testing.T) {
	for text, want := range map[string]bool{
		`x = file("a")`:                     true,
		`x = {a:file("a")}`:                 true,
		`x = c ? y:timestamp()`:             true,
		`x = [for f in l:file(f)]`:          true,
		"x = {for k, v in l:k=>file(v)}":    true,
		`x = file /* c */ ("a")`:            true,
		"x = (file # c\n(\"a\"))":           true,
		`x = core::file("a")`:               true,
		`x = core :: file("a")`:             true,
		`x = "${file("a")}"`:                true,
		`x = "%{if true}${uuid()}%{endif}"`: true,
		"x = <<E\n${file(\"a\")}\nE\n":      true,
		`x = path.cwd`:                      true,
		`x = path /* c */ . cwd`:            true,
		`x = path["cwd"]`:                   true,
		`x = templatestring(local.t, {})`:   true,
		`x = upper("file(a)")`:              false,
		`x = "$${file("`:                    false,
		"# file(\nx = 1":                    false,
		`x = provider::p::file("a")`:        false,
		`x = a-file`:                        false,
		`x = path.module`:                   false,
		`x = file`:                          false,
	} {
		if got := varies(config.File{Name: "main.tf"}, text); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	for text, want := range map[string]bool{
		`{"x": "${file(\"a\")}"}`:                  true,
		`{"x": "\u0024{\u0066ile(\"a\")}"}`:        true,
		`{"x": [{"${uuid()}": 1}]}`:                true,
		`{"x": "${path.cwd}"}`:                     true,
		`{"x": "file(a)", "y": "$${file(\"a\")}"}`: false,
		`{"x": "${upper(\"a\")}"}`:                 false,
	} {
		if got := varies(config.File{Name: "main.tf.json"}, text); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// A provider destroys the objects that only the state has. Therefore the plan needs the objects to which the settings of
// providers refer.
func TestUndeclaredResourcesNeedProviders(t *testing.T) {
	now := stamps(t, files, "")
	r := &store.Review{Resources: []string{"x_all.removed"}, Same: map[string]bool{}}
	for name := range now.Known {
		r.Same[name] = true
	}
	reach, err := now.Reach(r, nil)
	if err != nil || !slices.Contains(reach.Part, "x_base.p") || !slices.Contains(reach.Part, "x_all.removed") {
		t.Error(reach, err)
	}
	if got := Needs(now.request.Program, r, nil); !slices.Contains(got, "x_base.p") || !slices.Contains(got, "x_all.removed") {
		t.Error(got)
	}
}
