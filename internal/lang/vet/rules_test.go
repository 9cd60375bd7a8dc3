package vet

import (
	"slices"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program/programtest"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// fake returns a schema of the type fake_thing for any provider.
func fake(addr.Provider) *provider.Schemas {
	s := provider.NewSchemas(nil)
	s.Add(addr.Managed, "fake_thing", func() (*schema.Schema, error) {
		return &schema.Schema{Block: &schema.Block{Attrs: []*schema.Attr{
			{Name: "id", Type: cty.String, Computed: true},
			{Name: "name", Type: cty.String, Required: true},
			{Name: "note", Type: cty.String, Optional: true},
			{Name: "secret", Type: cty.String, Optional: true, WriteOnly: true},
		}}}, nil
	})
	return s
}

// vets runs Structure and Check on a configuration and returns the sorted titles of the diagnostics.
func vets(t *testing.T, root, called string, o CheckOptions) []string {
	t.Helper()
	p := programtest.Compile(t, root, called)
	var bag diag.Bag
	ok := Structure(p, &bag)
	ok = Check(p, fake, o, &bag) && ok
	if ok == bag.HasErrors() {
		t.Errorf("reports %v with %v", ok, bag.List())
	}
	var got []string
	for _, d := range bag.List() {
		got = append(got, d.Summary)
	}
	slices.Sort(got)
	return got
}

// finds fails the test unless the configuration has exactly these mistakes.
func finds(t *testing.T, root, called string, want ...string) {
	t.Helper()
	if got := vets(t, root, called, CheckOptions{}); !slices.Equal(got, want) {
		t.Errorf("%q, not %q:\n%s", got, want, root)
	}
}

// testObject returns a fake_thing block with additional text.
func testObject(name string, more ...string) string {
	return "resource \"fake_thing\" \"" + name + "\" {\n name = \"n\"\n " + strings.Join(more, "\n ") + "\n}\n"
}

// ignoring returns a lifecycle block with ignore_changes.
func ignoring(what string) string { return "lifecycle {\n  ignore_changes = [" + what + "]\n }" }

func TestIgnoreChangesNamesWhatTheSchemaHas(t *testing.T) {
	finds(t, testObject("a", ignoring("nope")), "", "Unsupported attribute")
	finds(t, testObject("a", ignoring("note")), "")
}

func TestIgnoreChangesOfComputedAttributesIsRedundant(t *testing.T) {
	finds(t, testObject("a", ignoring("id")), "", "Redundant ignore_changes element")
}

func TestIgnoreChangesOfWriteOnlyAttributesIsRedundant(t *testing.T) {
	finds(t, testObject("a", ignoring("secret")), "", "Redundant ignore_changes element")
}

// A root output that selects a write-only attribute, directly or indirectly, must be sensitive.
func TestOutputOfAWriteOnlyAttributeIsSensitive(t *testing.T) {
	const title = "An output referencing a sensitive value needs to be marked with sensitive too"
	finds(t, testObject("a")+"output \"o\" { value = fake_thing.a.secret }", "", title)
	finds(t, testObject("a")+"locals { l = fake_thing.a.secret }\noutput \"o\" { value = local.l }", "", title)
	finds(t, testObject("a")+"output \"o\" {\n value = fake_thing.a.secret\n sensitive = true\n}", "")
	finds(t, testObject("a")+"output \"o\" { value = fake_thing.a }", "")
}

func TestCycleThroughAModuleIsFound(t *testing.T) {
	finds(t, "module \"m\" {\n source = \"./m\"\n v = module.m.o\n}", "variable \"v\" {}\noutput \"o\" { value = var.v }", "Cycle")
	finds(t, "module \"m\" {\n source = \"./m\"\n v = module.m.o\n}", "variable \"v\" {}\noutput \"o\" { value = 1 }")
}

func TestMovesInACircleAreRefused(t *testing.T) {
	finds(t, "moved {\n from = fake_thing.a\n to = fake_thing.b\n}\nmoved {\n from = fake_thing.b\n to = fake_thing.a\n}", "", "Cyclic dependency in move statements")
}

func TestMoveFromADeclaredResourceIsRefused(t *testing.T) {
	finds(t, testObject("a")+testObject("b")+"moved {\n from = fake_thing.a\n to = fake_thing.b\n}", "", "Moved object still exists")
	finds(t, testObject("b")+"moved {\n from = fake_thing.a\n to = fake_thing.b\n}", "")
}

// A moved block is executed after the block that moves an object to its source.
func TestMovesAreOrderedByWhatTheyBring(t *testing.T) {
	p := programtest.Compile(t, "moved {\n from = fake_thing.b\n to = fake_thing.c\n}\nmoved {\n from = fake_thing.a\n to = fake_thing.b\n}", "")
	Structure(p, &diag.Bag{})
	var got []string
	for _, m := range p.Moves() {
		got = append(got, m.From.String())
	}
	if !slices.Equal(got, []string{"fake_thing.a", "fake_thing.b"}) {
		t.Error(got)
	}
}

func TestDestroyProvisionerNeedsOnlyItsOwnObject(t *testing.T) {
	provisioner := func(command string) string {
		return "provisioner \"local-exec\" {\n  when = destroy\n  command = " + command + "\n }"
	}
	const title = "Invalid reference from destroy provisioner"
	finds(t, testObject("a", provisioner("self.id")), "")
	finds(t, testObject("a", provisioner("path.root")), "")
	finds(t, testObject("o")+"locals { l = fake_thing.o.id }\n"+testObject("a", provisioner("local.l")), "", title)
}

// ignore_nested_deprecations disables warnings about uses between modules, and keeps warnings about uses by the caller.
func TestIgnoreNestedDeprecationsDoesNotSilenceTheCaller(t *testing.T) {
	const called = "output \"old\" {\n value = 1\n deprecated = \"x\"\n}"
	use := "output \"o\" { value = module.m.old }"
	finds(t, "module \"m\" { source = \"./m\" }\n"+use, called, "Deprecated value used")
	finds(t, "module \"m\" {\n source = \"./m\"\n ignore_nested_deprecations = true\n}\n"+use, called, "Deprecated value used")
}

func TestEphemeralValuesAreNotKept(t *testing.T) {
	const e = "variable \"e\" {\n type = string\n ephemeral = true\n}\n"
	finds(t, e+testObject("a", "note = var.e"), "", "Invalid use of an ephemeral value")
	finds(t, e+testObject("a", "secret = var.e"), "")
	finds(t, e+testObject("a", "count = var.e == \"\" ? 1 : 2"), "", "Invalid count argument")
}

func TestSensitiveOutputsSayThatTheyAre(t *testing.T) {
	const v = "variable \"v\" {\n type = string\n default = \"x\"\n sensitive = true\n}\n"
	finds(t, v+"output \"o\" { value = var.v }", "", "Output refers to sensitive values")
	finds(t, v+"output \"o\" {\n value = var.v\n sensitive = true\n}", "")
}

func TestMistakesAreFoundWithoutValues(t *testing.T) {
	finds(t, "locals { a = tonumber(\"x\") }", "", "Invalid function argument")
	finds(t, testObject("a")+"locals { a = fake_thing.a.nope }", "", "Unsupported attribute")
}

func TestRequiredArgumentsMayLackInAnIncompleteConfiguration(t *testing.T) {
	const bareText = "resource \"fake_thing\" \"a\" {}"
	if got := vets(t, bareText, "", CheckOptions{}); !slices.Equal(got, []string{"Missing required argument"}) {
		t.Error(got)
	}
	if got := vets(t, bareText, "", CheckOptions{Incomplete: true}); len(got) > 0 {
		t.Error(got)
	}
}

func TestBodiesOnlyEvaluatesNothing(t *testing.T) {
	if got := vets(t, "locals { a = tonumber(\"x\") }", "", CheckOptions{BodiesOnly: true}); len(got) > 0 {
		t.Error(got)
	}
}
