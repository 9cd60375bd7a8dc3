package config

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
)

// testReader returns a reader without a module.
func testReader() *reader { return &reader{opts: Options{}.filled()} }

// testBody parses the content of a block.
func testBody(t *testing.T, text string) hcl.Body {
	t.Helper()
	f, ds := hclsyntax.ParseConfig([]byte(text), "main.tf", hcl.InitialPos)
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	return f.Body
}

// wantTitles compares the titles of all messages of a reader.
func wantTitles(t *testing.T, rd *reader, want ...string) {
	t.Helper()
	var got []string
	for _, d := range rd.bag.List() {
		got = append(got, d.Summary)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("messages: %q, want %q", got, want)
	}
}

func TestLaterRequirementsReplaceEarlierOnes(t *testing.T) {
	rd := testReader()
	mod := newModule(".")
	q := newRequirements(rd, mod)
	q.add(testBody(t, "a = { source = \"x/a\" }\nb = { source = \"x/b\" }"))
	q.add(testBody(t, "a = { source = \"y/a\" }"))
	q.read()
	if a, b := mod.Required["a"].Source.Namespace, mod.Required["b"].Source.Namespace; a != "y" || b != "x" {
		t.Errorf("a from %s, b from %s", a, b)
	}
	wantTitles(t, rd)
}

func TestInvalidRequirementMakesTheModuleUnreadable(t *testing.T) {
	rd := testReader()
	mod := newModule(".")
	q := newRequirements(rd, mod)
	q.add(testBody(t, "a = { source = 1 }"))
	q.read()
	if !mod.unreadable || mod.Required["a"] != nil {
		t.Errorf("%v %v", mod.unreadable, mod.Required)
	}
	wantTitles(t, rd, "Invalid source")
}

func TestUseOfALocalNameImpliesARequirement(t *testing.T) {
	mod := newModule(".")
	mod.Resources[Name{addr.Managed, "aws_vpc", "x"}] = &Resource{Name: Name{addr.Managed, "aws_vpc", "x"}}
	mod.Providers[ProviderName{Local: "toy"}] = &Provider{ProviderName: ProviderName{Local: "toy"}, Versions: []VersionConstraint{{Text: "> 1"}}}
	newRequirements(testReader(), mod).addImplied()
	if r := mod.Required["aws"]; r == nil || r.Source != addr.Default("aws") || r.Uncertain {
		t.Errorf("aws: %+v", r)
	}
	if r := mod.Required["toy"]; r == nil || len(r.Versions) != 1 {
		t.Errorf("toy: %+v", r)
	}
}

func TestImpliedRequirementsOfAnUnreadableModuleAreUncertain(t *testing.T) {
	mod := newModule(".")
	mod.unreadable = true
	mod.Resources[Name{addr.Managed, "aws_vpc", "x"}] = &Resource{Name: Name{addr.Managed, "aws_vpc", "x"}}
	newRequirements(testReader(), mod).addImplied()
	if !mod.Required["aws"].Uncertain {
		t.Error("the requirement is certain")
	}
}

// readTestLifecycle reads a lifecycle block of a resource.
func readTestLifecycle(t *testing.T, mode addr.Mode, text string) (*Resource, *reader) {
	rd, r := testReader(), &Resource{Name: Name{mode, "a", "b"}}
	readLifecycle(rd, r, &hcl.Block{Type: "lifecycle", Body: testBody(t, text)})
	return r, rd
}

func TestLifecycleArgumentsBelongToManagedResources(t *testing.T) {
	const text = "create_before_destroy = true\nignore_changes = [tags[\"a\"]]"
	r, rd := readTestLifecycle(t, addr.Managed, text)
	if !r.Lifecycle.CreateFirst || len(r.Lifecycle.Ignore) != 1 {
		t.Errorf("%+v", r.Lifecycle)
	}
	wantTitles(t, rd)
	_, rd = readTestLifecycle(t, addr.Data, text)
	const title = "Invalid data resource lifecycle argument"
	wantTitles(t, rd, title, title)
	_, rd = readTestLifecycle(t, addr.Ephemeral, "prevent_destroy = true")
	wantTitles(t, rd, "Invalid lifecycle configuration for ephemeral resource")
}

func TestTriggersReferToOneManagedResource(t *testing.T) {
	for text, title := range map[string]string{
		"a_b.c":            "",
		"a_b.c.id":         "",
		"a_b.c[each.key]":  "",
		"var.x":            "Invalid reference in replace_triggered_by expression",
		"a_b.c[a_b.d.id]":  "Invalid replace_triggered_by expression",
		"\"a_b.c\"":        "Invalid replace_triggered_by expression",
		"a_b.c[local.key]": "Invalid reference in replace_triggered_by expression",
	} {
		r, rd := readTestLifecycle(t, addr.Managed, "replace_triggered_by = ["+text+"]")
		if title == "" {
			wantTitles(t, rd)
		} else {
			wantTitles(t, rd, title)
		}
		if n := len(r.Lifecycle.Triggers); (n == 1) != (title == "") {
			t.Errorf("%s: %d triggers", text, n)
		}
	}
}

func TestEncryptionPartsHaveUniqueNames(t *testing.T) {
	rd := testReader()
	e := readEncryption(rd, testBody(t, "key_provider \"pbkdf2\" \"a\" {\n}\nkey_provider \"pbkdf2\" \"a\" {\n}\nkey_provider \"pbkdf2\" \"b\" {\n}"))
	if len(e.Providers) != 2 {
		t.Errorf("%d key providers", len(e.Providers))
	}
	wantTitles(t, rd, "Duplicate encryption configuration")
}

func TestEncryptionTargetsNameAMethod(t *testing.T) {
	rd := testReader()
	e := readEncryption(rd, testBody(t, "state {\n  method = method.aes_gcm.a\n  fallback {\n    method = method.aes_gcm.b\n  }\n}\nplan {\n  method = key_provider.pbkdf2.a\n}"))
	if e.State.Method.Name != "a" || e.State.Fallback.Method.Name != "b" || e.Plan.Method != nil {
		t.Errorf("%+v %+v", e.State, e.Plan)
	}
	wantTitles(t, rd, "Invalid encryption configuration")
}

func TestEncryptionTargetsOfTheEnvironmentTakePrecedence(t *testing.T) {
	base, env := &EncryptionRef{Name: "base"}, &EncryptionRef{Name: "env"}
	fallback := &EncryptionTarget{Method: base}
	got := (&EncryptionTarget{Method: base, Fallback: fallback}).merge(&EncryptionTarget{Method: env})
	if got.Method != env || got.Fallback != fallback {
		t.Errorf("%+v", got)
	}
}
