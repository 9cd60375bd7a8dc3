package rewrite

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// block returns the schema of a type that the tests use: resources that store secrets or receive them in write-only
// arguments, their ephemeral and data counterparts, and a generator of passwords. It returns nil for other types.
func block(_ addr.Provider, mode addr.Mode, typ string) *schema.Block {
	text := func(name string) *schema.Attr { return &schema.Attr{Name: name, Type: cty.String, Optional: true} }
	writeOnly := func(name string) *schema.Attr {
		return &schema.Attr{Name: name, Type: cty.String, Optional: true, WriteOnly: true}
	}
	version := func(name string) *schema.Attr { return &schema.Attr{Name: name, Type: cty.Number, Optional: true} }
	computed := func(name string) *schema.Attr { return &schema.Attr{Name: name, Type: cty.String, Computed: true} }
	required := func(name string) *schema.Attr { return &schema.Attr{Name: name, Type: cty.String, Required: true} }
	login := []*schema.Attr{text("key"), writeOnly("key_wo"), version("key_wo_revision")}
	switch mode.Block() + " " + typ {
	case "resource test_db":
		return &schema.Block{
			Attrs: []*schema.Attr{
				{Name: "logins", Type: cty.List(cty.DynamicPseudoType), Optional: true, Object: &schema.Object{Attrs: login, Nesting: schema.List}},
				text("note"), text("password"), writeOnly("password_wo"), version("password_wo_version"),
			},
			Blocks: []*schema.Nested{{Name: "login", Block: &schema.Block{Attrs: login}, Nesting: schema.List}},
		}
	case "resource lethe_secret_version":
		return &schema.Block{Attrs: []*schema.Attr{writeOnly("value_wo"), computed("version")}}
	case "resource test_secret":
		return &schema.Block{Attrs: []*schema.Attr{computed("arn"), required("id"), text("value"), writeOnly("value_wo"), version("value_wo_version")}}
	case "ephemeral test_secret":
		return &schema.Block{Attrs: []*schema.Attr{required("id"), computed("value")}}
	case "resource test_parameter":
		return &schema.Block{Attrs: []*schema.Attr{computed("arn"), text("value"), writeOnly("value_wo")}}
	case "ephemeral test_parameter":
		return &schema.Block{Attrs: []*schema.Attr{required("arn"), computed("value")}}
	case "resource test_password":
		return &schema.Block{Attrs: []*schema.Attr{computed("result"), computed("length")}}
	case "data test_secret":
		return &schema.Block{Attrs: []*schema.Attr{required("id"), computed("value")}}
	}
	return nil
}

// draft returns a draft of a configuration, whose files are separated by lines like "-- main.tf --".
func draft(t *testing.T, text string) *Draft {
	t.Helper()
	files := config.Memory{}
	name := "main.tf"
	for line := range strings.Lines(text) {
		if n, ok := strings.CutPrefix(line, "-- "); ok {
			name = strings.TrimSuffix(n, " --\n")
			continue
		}
		files[name] = append(files[name], line...)
	}
	var bag diag.Bag
	tree, ok := config.LoadTree(".", config.Options{Files: files}, func(_ addr.Module, call *config.Call, _ *config.Node, _ *diag.Bag) (string, string, string, bool) {
		return "m", "./m", "", true
	}, &bag)
	if !ok {
		t.Fatal(bag.List())
	}
	return New(Inputs{
		Tree: tree, Block: block, Fixed: func(string) string { return "" }, Given: func(string) string { return "x.tfvars" }, Exists: func(addr.Resource) bool { return true },
		Number: func(addr.Resource, string) bool { return false },
	})
}

// text returns the text of the draft's first file, main.tf of the root module.
func text(d *Draft) string { return string(d.modules[0].files[0].content()) }

func resource(typ, name string) addr.Resource {
	return addr.Resource{Mode: addr.Managed, Type: typ, Name: name}
}

func names(path string) []string { return strings.Split(path, ".") }

func TestArgumentsInBlocksAndObjectsMove(t *testing.T) {
	for before, after := range map[string]string{
		"login {\n    key = var.k # one\n  }": "login {\n    key_wo          = var.k # one\n    key_wo_revision = 1\n  }",
		"dynamic \"login\" {\n    for_each = [1]\n    content {\n      key = \"${login.value}${var.k}\"\n    }\n  }": "dynamic \"login\" {\n    for_each = [1]\n    content {\n      key_wo          = \"${login.value}${var.k}\"\n      key_wo_revision = 1\n    }\n  }",
	} {
		d := draft(t, "variable \"k\" {}\nresource \"test_db\" \"a\" {\n  "+before+"\n}\n")
		r := d.WriteOnly(resource("test_db", "a"), names("login.key"), names("login.key_wo"))
		d.Settle([]*Result{r})
		if want := "variable \"k\" {\n  ephemeral = true\n}\nresource \"test_db\" \"a\" {\n  " + after + "\n}\n"; text(d) != want || r.Refused != "" {
			t.Errorf("%s\n%s", r.Refused, text(d))
		}
	}
	d := draft(t, "variable \"k\" {}\nresource \"test_db\" \"a\" {\n  logins = [{ key = var.k }, {\n    key = \"x\"\n  }]\n}\n")
	r := d.WriteOnly(resource("test_db", "a"), names("logins.key"), names("logins.key_wo"))
	if want := "variable \"k\" {}\nresource \"test_db\" \"a\" {\n  logins = [{ key_wo = var.k, key_wo_revision = 1 }, {\n    key_wo          = \"x\"\n    key_wo_revision = 1\n  }]\n}\n"; text(d) != want || r.Refused != "" {
		t.Errorf("%s\n%s", r.Refused, text(d))
	}
}

func TestBlocksOnOneLineMove(t *testing.T) {
	d := draft(t, "variable \"k\" { type = string }\nresource \"test_db\" \"a\" {\n  login { key = var.k }\n}\nresource \"test_db\" \"b\" { password = var.k } # one\n")
	var all []*Result
	for name, path := range map[string]string{"a": "login.key", "b": "password"} {
		all = append(all, d.WriteOnly(resource("test_db", name), names(path), names(path+"_wo")))
	}
	d.Settle(all)
	want := "variable \"k\" {\n  type      = string\n  ephemeral = true\n}\nresource \"test_db\" \"a\" {\n  login {\n    key_wo          = var.k\n    key_wo_revision = 1\n  }\n}\n" +
		"resource \"test_db\" \"b\" {\n  password_wo         = var.k\n  password_wo_version = lethe_secret_version.b_password.version\n} # one\n\nresource \"lethe_secret_version\" \"b_password\" {\n  value_wo = var.k\n}\n"
	if text(d) != want {
		t.Errorf("%+v\n%s", all, text(d))
	}
}

// TestEachMoveParsesItsParts counts the parsed bytes, the allocated bytes and the examined files of many moves in one
// file, whose arguments and references are in all parts of the file.
func TestEachMoveParsesItsParts(t *testing.T) {
	parsed := func(n int) (bytes int, allocated uint64) {
		var b strings.Builder
		b.WriteString("variable \"k\" {\n  default = \"x\"\n}\n")
		for i := range n {
			fmt.Fprintf(&b, "\n# number %[1]d\nresource \"test_db\" \"a%[1]d\" {\n  password = var.k\n  login {\n    key = \"k%[1]d\"\n  }\n}\nresource \"test_db\" \"b%[1]d\" {\n  note = test_db.a%[1]d.password\n}\n", i)
		}
		original := parseText
		defer func() { parseText = original }()
		parseText = func(text []byte, name string, at hcl.Pos) (*hcl.File, hcl.Diagnostics) {
			bytes += len(text)
			return original(text, name, at)
		}
		d := draft(t, b.String())
		examined := 0
		d.in.Fixed = func(string) string { examined++; return "" }
		var all []*Result
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := range n {
			for _, path := range []string{"login.key", "password"} {
				all = append(all, d.WriteOnly(resource("test_db", fmt.Sprintf("a%d", i)), names(path), names(path+"_wo")))
			}
		}
		d.Settle(all)
		runtime.ReadMemStats(&after)
		if examined != 1 {
			t.Errorf("%d moves examine the file %d times", n, examined)
		}
		if i := slices.IndexFunc(all, func(r *Result) bool { return r.Refused != "" || len(r.Lives) == 0 }); i >= 0 || strings.Count(text(d), "_wo ") != 3*n {
			t.Errorf("%+v\n%s", all, text(d))
		}
		return bytes, after.TotalAlloc - before.TotalAlloc
	}
	few, fewAllocated := parsed(20)
	many, manyAllocated := parsed(200)
	if many > 12*few || manyAllocated > 15*fewAllocated {
		t.Errorf("20 resources parse %d bytes and allocate %d, and 200 resources %d and %d", few, fewAllocated, many, manyAllocated)
	}
}

func TestReferencesBehindOtherStepsPreventMoves(t *testing.T) {
	for text, refused := range map[string]bool{
		"locals {\n  l = test_db.a[*].password\n}\n":                                                                 true,
		"locals {\n  l = test_db.a[\"x\"][\"password\"]\n}\n":                                                        true,
		"locals {\n  l = one([for d in values(test_db.a) : d if d.password != \"\"])\n}\n":                           true,
		"locals {\n  l = [for k, d in test_db.a : { p = d }]\n}\n":                                                   true,
		"locals {\n  l = \"${jsonencode(test_db.a)}\"\n}\n":                                                          true,
		"locals {\n  l = try(test_db.a[0], null).password\n}\n":                                                      true,
		"module \"n\" {\n  source   = \"./m\"\n  for_each = test_db.a\n  k        = each.value.password\n}\n":        true,
		"-- b_override.tf --\nresource \"test_db\" \"a\" {\n  connection {\n    password = self.password\n  }\n}\n":  true,
		"locals {\n  l = [length(test_db.a), keys(test_db.a), test_db.a[*].note]\n}\n":                               false,
		"locals {\n  l = { for k, d in test_db.a : k => [for login in d.login : login.key] if d.note != \"\" }\n}\n": false,
		"locals {\n  l = [for d in [1] : d]\n  m = (true ? test_db.a : {})[\"x\"].note\n}\n":                         false,
		"module \"n\" {\n  source   = \"./m\"\n  for_each = test_db.a\n  k        = each.value.note\n}\n":            false,
		"moved {\n  from = test_db.b\n  to   = test_db.a\n}\n":                                                       false,
	} {
		d := draft(t, "variable \"k\" {}\nresource \"test_db\" \"a\" {\n  for_each = toset([\"x\"])\n  password = var.k\n}\n"+text+"-- m/main.tf --\nvariable \"k\" {}\n")
		if r := d.WriteOnly(resource("test_db", "a"), names("password"), names("password_wo")); strings.Contains(r.Refused, "would be null") != refused {
			t.Errorf("%s%+v", text, r)
		}
	}
}

func TestUndoneMovesChangeNothing(t *testing.T) {
	const before = "variable \"k\" {}\nresource \"test_db\" \"a\" {\n  password = var.k\n}\n-- fixed.tf --\nresource \"test_db\" \"b\" {\n  note     = \"x-\"\n  password = join(\"-\", [\"canary-1\", \"\"])\n}\n"
	d := draft(t, before)
	d.in.Fixed = func(path string) string {
		if strings.HasSuffix(path, "fixed.tf") {
			return "it is fixed"
		}
		return ""
	}
	r := d.WriteOnly(resource("test_db", "b"), names("password"), names("password_wo"))
	if len(r.ByHand) != 1 || len(d.Changed()) != 0 {
		t.Fatalf("%+v", r)
	}
	if diff := d.Difference(r.ByHand[0]); !strings.Contains(diff, "@@ -1,4 +1,5 @@") || !strings.Contains(diff, "+  password_wo         = join(\"-\", [(sensitive value), \"\"])\n") || strings.Contains(diff, "canary") {
		t.Error(diff)
	}
	if r = d.WriteOnly(resource("test_db", "a"), names("password"), names("password_wo")); r.Refused != "" || len(d.Changed()) != 1 {
		t.Errorf("%+v", r)
	}
}

func TestLayoutOfOtherStylesStays(t *testing.T) {
	const before = "variable \"k\" {}\nresource \"test_db\" \"a\" {\n\tnote= <<EOT\n\n  password = x\nEOT\n\tpassword=var.k // secret\n\n\n}\nlocals { a=1 }\n"
	d := draft(t, before)
	r := d.WriteOnly(resource("test_db", "a"), names("password"), names("password_wo"))
	want := strings.Replace(before, "\tpassword=var.k // secret\n", "\tpassword_wo=var.k // secret\n\tpassword_wo_version = lethe_secret_version.a_password.version\n", 1)
	want = strings.Replace(want, "}\nlocals", "}\n\nresource \"lethe_secret_version\" \"a_password\" {\n  value_wo = var.k\n}\nlocals", 1)
	if text(d) != want || r.Refused != "" {
		t.Errorf("%s\n%s", r.Refused, text(d))
	}
}

func TestReferencesToTheArgumentGetItsExpression(t *testing.T) {
	d := draft(t, "variable \"k\" {}\nresource \"test_db\" \"a\" {\n  password = var.k\n}\nresource \"test_db\" \"b\" {\n  note = \"x${test_db.a.password}\"\n}\n")
	r := d.WriteOnly(resource("test_db", "a"), names("password"), names("password_wo"))
	d.Settle([]*Result{r})
	if !strings.Contains(text(d), `note = "x${var.k}"`) || strings.Contains(text(d), "ephemeral = true") || !strings.Contains(strings.Join(r.Lives, " "), "test_db.b.note (main.tf) uses it") {
		t.Errorf("%+v\n%s", r, text(d))
	}
}

func TestGeneratorsMoveOnlyIntoSecretManagers(t *testing.T) {
	const generator = "# The password.\nresource \"test_password\" \"p\" {\n}\n\n"
	const user = "resource \"test_db\" \"a\" {\n  password_wo         = test_password.p.result\n  password_wo_version = 1\n}\n"
	for manager, why := range map[string]string{
		"": "The value would be nowhere afterwards: an ephemeral generator returns another value at each opening",
		"resource \"test_parameter\" \"m\" {\n  value_wo = test_password.p.result\n}\n":                                                                 "The value would be nowhere afterwards",
		"resource \"test_secret\" \"m\" {\n  id       = \"x\"\n  value_wo = \"p-${test_password.p.result}\"\n}\n":                                       "The value would be nowhere afterwards",
		"resource \"test_secret\" \"m\" {\n  id       = test_password.p.length\n  value_wo = test_password.p.result\n}\n":                               "uses another part of test_password.p",
		"resource \"test_secret\" \"m\" {\n  id    = \"x\"\n  value = test_password.p.result\n}\noutput \"o\" {\n  value = test_password.p.result\n}\n": "output.o stores it",
		"resource \"test_secret\" \"m\" {\n  id    = \"x\"\n  value = test_password.p.result\n  lifecycle {\n    ignore_changes = [value]\n  }\n}\n":    "ignore_changes of test_secret.m contains value",
	} {
		d := draft(t, generator+user+manager)
		if r := d.Generator(resource("test_password", "p"), "result"); !strings.Contains(r.Refused, why) || text(d) != generator+user+manager {
			t.Errorf("%s\n%s", r.Refused, text(d))
		}
	}
	d := draft(t, generator+user+"resource \"test_secret\" \"m\" {\n  id    = \"x\"\n  value = test_password.p.result # kept\n}\n")
	r := d.Generator(resource("test_password", "p"), "result")
	want := "resource \"test_db\" \"a\" {\n  password_wo         = ephemeral.test_secret.m.value\n  password_wo_version = 1\n}\n" +
		"resource \"test_secret\" \"m\" {\n  id               = \"x\"\n  value_wo         = ephemeral.test_secret.m.value # kept\n  value_wo_version = 1\n}\n" +
		"\n# The secret manager keeps the value. It is written again only if its version changes.\nephemeral \"test_secret\" \"m\" {\n  id = \"x\"\n}\n"
	if text(d) != want || r.Refused != "" || r.ReadsBack != resource("test_secret", "m") {
		t.Errorf("%+v\n%s", r, text(d))
	}
}

// TestSourcesOfOtherMovesAreFollowed moves an argument that refers, through a module, to an argument that moves later.
// So the state of the other resource is not among the places that still contain the value of the first argument. If the
// first argument also refers to an attribute that does not move, that state is among these places.
func TestSourcesOfOtherMovesAreFollowed(t *testing.T) {
	d := draft(t, "variable \"k\" {}\nmodule \"m\" {\n  source = \"./m\"\n  k      = var.k\n}\nresource \"test_db\" \"a\" {\n  password = module.m.back\n}\nresource \"test_db\" \"b\" {\n  password = \"${module.m.note}-${module.m.back}\"\n}\n"+
		"-- m/main.tf --\nvariable \"k\" {}\nresource \"test_db\" \"in\" {\n  password = var.k\n}\noutput \"back\" {\n  value = test_db.in.password\n}\noutput \"note\" {\n  value = test_db.in.note\n}\n")
	in := resource("test_db", "in")
	in.Module = addr.Module{}.Child("m")
	var all []*Result
	for _, r := range []addr.Resource{resource("test_db", "a"), resource("test_db", "b"), in} {
		all = append(all, d.WriteOnly(r, names("password"), names("password_wo")))
	}
	d.Settle(all)
	const variable = "in the ephemeral variable var.k"
	for i, want := range [][]string{{variable}, {"in the state, as a part of test_db.in", variable}, {variable}} {
		if !slices.Equal(all[i].Lives, want) {
			t.Errorf("%d: %q", i, all[i].Lives)
		}
	}
}

func TestOutputsAndVariablesOnTheWayBecomeEphemeral(t *testing.T) {
	d := draft(t, "variable \"k\" {}\nlocals {\n  l = { a = var.k }\n}\nmodule \"m\" {\n  source = \"./m\"\n  k      = local.l.a\n}\nresource \"test_db\" \"a\" {\n  password = module.m.back\n}\n"+
		"-- m/main.tf --\nvariable \"k\" {\n  type = string\n}\noutput \"back\" {\n  value = var.k\n}\n")
	r := d.WriteOnly(resource("test_db", "a"), names("password"), names("password_wo"))
	d.Settle([]*Result{r})
	child := string(d.modules[1].files[0].content())
	if child != "variable \"k\" {\n  type      = string\n  ephemeral = true\n}\noutput \"back\" {\n  value     = var.k\n  ephemeral = true\n}\n" || len(r.Callers) != 2 || r.Callers[0] != "each run, for var.k (now from x.tfvars)" || r.Callers[1] != "module.m (main.tf)" {
		t.Errorf("%+v\n%s", r, child)
	}
}

func TestDataSourcesBecomeEphemeral(t *testing.T) {
	d := draft(t, "data \"test_secret\" \"d\" {\n  id = \"x\"\n}\nresource \"test_db\" \"a\" {\n  password_wo = data.test_secret.d.value\n  depends_on  = [data.test_secret.d]\n}\n")
	r := d.Data(addr.Resource{Mode: addr.Data, Type: "test_secret", Name: "d"})
	if want := "ephemeral \"test_secret\" \"d\" {\n  id = \"x\"\n}\nresource \"test_db\" \"a\" {\n  password_wo = ephemeral.test_secret.d.value\n  depends_on  = [ephemeral.test_secret.d]\n}\n"; text(d) != want || r.Refused != "" {
		t.Errorf("%+v\n%s", r, text(d))
	}
}

func TestBrokenTestsAreNamed(t *testing.T) {
	d := draft(t, `-- main.tf --
resource "test_password" "p" {
}
resource "test_secret" "s" {
  id    = "s"
  value = test_password.p.result
}
resource "test_db" "d" {
  password = "constant"
}
`)
	d.tests = parseTests([]Test{{Name: "a.tftest.hcl", Dir: ".", Text: []byte(`
override_resource {
  target = test_password.p
}
override_resource {
  target = test_secret.s
}
run "a" {
  assert {
    condition = test_secret.s.value != test_db.d.note
  }
}
`)}, {Name: "b.tftest.json", Dir: ".", Text: []byte(`{"run": {"b": {"assert": {"condition": "${test_password.p.length > 0}"}}}}`)}})
	refusedMove := d.WriteOnly(addr.Resource{Mode: addr.Managed, Type: "test_db", Name: "d"}, []string{"note"}, []string{"note_wo"})
	if refusedMove.Refused == "" {
		t.Fatal("a move without an argument was made")
	}
	if r := d.Generator(addr.Resource{Mode: addr.Managed, Type: "test_password", Name: "p"}, "result"); r.Refused != "" {
		t.Fatal(r.Refused)
	}
	want := []string{
		"a.tftest.hcl, line 3: test_password.p is not in the configuration afterwards.",
		"a.tftest.hcl, line 10: test_secret.s.value is null afterwards.",
		"b.tftest.json: test_password.p is not in the configuration afterwards.",
	}
	if got := d.Broken(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	d.restore(0)
	if got := d.Broken(); len(got) > 0 {
		t.Errorf("after the edits were undone: %q", got)
	}
}
