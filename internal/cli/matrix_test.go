package cli_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// testAttributesOfEveryKind creates, updates, replaces, imports and destroys objects whose attributes are all
// combinations that providers have: optional, computed, preset, sensitive, write-only, of every type, nested and in
// blocks. After each step the plan must be empty. With LETHE_LONG, Terraform must reach the same states.
func testAttributesOfEveryKind(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"playground", "playground5"} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			ours := lives(t, "lethe", provider)
			if _, err := exec.LookPath("terraform"); err != nil || os.Getenv("LETHE_LONG") == "" {
				return
			}
			theirs := lives(t, "terraform", provider)
			for step, got := range ours {
				for object, o := range theirs[step] {
					if !reflect.DeepEqual(got[object], o) {
						t.Errorf("%s: %s is\n%.300v, with Terraform\n%.300v", step, object, got[object], o)
					}
				}
			}
		})
	}
}

// lives applies, updates, replaces, imports and destroys the objects of a provider's resource type with the given
// program. It returns the objects in the state after each step, by the name of the step.
func lives(t *testing.T, program, provider string) map[string]map[string]any {
	p := newProcess(t, "", "PLAYGROUND_MATRIX=1")
	p.program = program
	must := func(want string, args ...string) string {
		t.Helper()
		code, out := p.run(args...)
		if code != 0 || !strings.Contains(out, want) {
			t.Fatalf("%s %v: exit code %d\n%s", program, args, code, out)
		}
		return out
	}
	require := strings.Replace(requirePlayground, "{\n    playground = {\n      source = \"lethe/playground\"", "{\n    "+provider+" = {\n      source = \"lethe/"+provider+"\"", 1)
	p.write("main.tf", require)
	typ := provider + "_matrix"
	m := &matrix{typ: typ, schema: matrixSchema(t, typ, must("", "providers", "schema", "-json"))}
	seen := map[string]map[string]any{}
	step := func(name, config, want string, flags ...string) {
		t.Helper()
		p.write("main.tf", require+config)
		must(want, append([]string{"apply", "-auto-approve"}, flags...)...)
		must("No changes.", append([]string{"plan", "-detailed-exitcode"}, flags...)...)
		if provider == "playground" { // not for SDKv2: it adds empty collections to blocks only when it reads an object, so a plan without a refresh has a change, also in Terraform
			must("No changes.", append([]string{"plan", "-detailed-exitcode", "-refresh=false"}, flags...)...)
		}
		seen[name] = stored(t, p)
	}
	first := m.objects(1)
	n := strings.Count(first, "\nresource ")
	step("created", first, fmt.Sprintf("Resources: %d added, 0 changed, 0 destroyed.", n))
	step("updated", m.objects(2), " 0 added,")
	step("replaced", m.objects(2), fmt.Sprintf("Resources: %d added, 0 changed, %d destroyed.", n, n), "-var=frozen=x")
	for _, f := range []string{"terraform.tfstate", "terraform.tfstate.backup"} {
		if err := os.Remove(filepath.Join(p.dir, f)); err != nil {
			t.Fatal(err)
		}
	}
	step("imported", m.objects(2)+m.imports, fmt.Sprintf("Resources: %d imported, 0 added,", n), "-var=frozen=x")
	must(fmt.Sprintf("Resources: %d destroyed.", n), "destroy", "-auto-approve")
	if left, _ := filepath.Glob(filepath.Join(p.dir, ".cloud/*.json")); len(left) > 0 {
		t.Errorf("%d objects are left", len(left))
	}
	return seen
}

// matrix writes objects of the resource type that has all kinds of attributes.
type matrix struct {
	typ     string
	schema  schemaBlock
	imports string
}

type schemaAttr struct {
	Type      any
	Nested    *schemaNest `json:"nested_type"`
	Optional  bool
	WriteOnly bool `json:"write_only"`
}

type schemaNest struct {
	Attributes map[string]schemaAttr
	Mode       string `json:"nesting_mode"`
}

type schemaBlock struct {
	Attributes map[string]schemaAttr
	Blocks     map[string]schemaNested `json:"block_types"`
}

type schemaNested struct {
	Mode  string `json:"nesting_mode"`
	Max   int    `json:"max_items"`
	Block schemaBlock
}

func matrixSchema(t *testing.T, typ, text string) schemaBlock {
	var doc struct {
		Providers map[string]struct {
			Types map[string]struct{ Block schemaBlock } `json:"resource_schemas"`
		} `json:"provider_schemas"`
	}
	if err := json.NewDecoder(strings.NewReader(text[max(0, strings.Index(text, "{\"format")):])).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	for _, s := range doc.Providers {
		if b, ok := s.Types[typ]; ok {
			return b.Block
		}
	}
	t.Fatal("the provider has no such type")
	return schemaBlock{}
}

// objects returns the configuration of an object without arguments, of an object for each kind of argument and of
// block, and of an object with all of them. Each of these objects occurs with plain values and with sensitive values.
// Without LETHE_LONG, the objects for nested arguments and for blocks, and the object with all sensitive values, are
// omitted. n varies the values.
func (m *matrix) objects(n int) string {
	m.imports = ""
	sdk := m.typ == "playground5_matrix"
	out := strings.Builder{}
	out.WriteString("variable \"frozen\" {\n  default = null\n}\n")
	for _, w := range []writer{{n, "plain", sdk}, {n, "sensitive", sdk}} {
		all := ""
		add := func(name, body string) {
			name = w.form + "_" + name
			fmt.Fprintf(&out, "\nresource \"%s\" \"%s\" {\n  name = \"%s\"\n  frozen = var.frozen\n%s}\n", m.typ, name, name, body)
			m.imports += fmt.Sprintf("\nimport {\n  to = %s.%s\n  id = \"matrix-%s\"\n}\n", m.typ, name, name)
		}
		args := map[string]string{} // the text of each argument, by the kind for arguments of simple types, and by the name for nested arguments
		for _, name := range slices.Sorted(maps.Keys(m.schema.Attributes)) {
			a := m.schema.Attributes[name]
			if !a.Optional || name == "frozen" || name == "id" {
				continue
			}
			arg := "  " + name + " = " + w.attr(a) + "\n"
			all += arg
			if a.Nested == nil {
				name = name[:strings.LastIndex(name, "_")]
			}
			if a.Nested == nil || whole() {
				args[name] += arg
			}
		}
		for _, name := range slices.Sorted(maps.Keys(args)) {
			add(name, args[name])
		}
		for _, name := range slices.Sorted(maps.Keys(m.schema.Blocks)) {
			block := w.blocks(name, m.schema.Blocks[name])
			if all += block; whole() {
				add(name, block)
			}
		}
		add("none", "")
		if whole() || w.form == "plain" {
			add("all", all)
		}
	}
	return out.String()
}

// whole reports whether long tests run (LETHE_LONG). The provider framework takes a second for an object with all
// attributes.
func whole() bool { return os.Getenv("LETHE_LONG") != "" }

// writer writes values, plain or sensitive.
type writer struct {
	n    int    // a number that makes the values of different calls differ
	form string // "plain" or "sensitive"
	sdk  bool   // for a provider on SDKv2
}

func (w writer) mark(text string) string {
	if w.form == "sensitive" {
		return "sensitive(" + text + ")"
	}
	return text
}

func (w writer) attr(a schemaAttr) string {
	if a.Nested == nil {
		return w.value(a.Type)
	}
	one := "{ " + w.attrs(a.Nested.Attributes, "; ") + " }"
	one = strings.ReplaceAll(strings.ReplaceAll(one, "; }", " }"), "; ", ", ")
	switch a.Nested.Mode {
	case "list", "set":
		return "[" + one + "]"
	case "map":
		return "{ k = " + one + " }"
	}
	return one
}

func (w writer) attrs(attrs map[string]schemaAttr, end string) string {
	out := ""
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		if attrs[name].Optional {
			out += name + " = " + w.attr(attrs[name]) + end
		}
	}
	return out
}

func (w writer) value(t any) string {
	switch t {
	case "string":
		return w.mark(fmt.Sprintf("\"v%d\"", w.n))
	case "number":
		return w.mark(fmt.Sprint(w.n))
	case "bool":
		return w.mark(fmt.Sprint(w.n%2 == 0))
	}
	of, _ := t.([]any)
	switch of[0] {
	case "list", "set":
		return "[" + w.value(of[1]) + "]"
	case "map":
		return "{ k = " + w.value(of[1]) + " }"
	}
	var parts []string
	attrs, _ := of[1].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		parts = append(parts, name+" = "+w.value(attrs[name]))
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}

func (w writer) blocks(name string, b schemaNested) string {
	body := w.attrs(b.Block.Attributes, "\n")
	for _, inner := range slices.Sorted(maps.Keys(b.Block.Blocks)) {
		body += w.blocks(inner, b.Block.Blocks[inner])
	}
	out := name + " {\n" + body + "}\n"
	if b.Mode != "single" && b.Max != 1 && !(w.sdk && b.Mode == "set") { // not for sets of SDKv2: it plans a change of a set with an empty block each time
		out += name + " {\n}\n"
	}
	return out
}

// stored returns the objects in the state by name, without private data.
func stored(t *testing.T, p *process) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, "terraform.tfstate"))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Resources []struct {
			Name      string
			Instances []struct {
				Attributes map[string]any
				Sensitive  []any `json:"sensitive_attributes"`
			}
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	for _, r := range doc.Resources {
		var paths []string
		for _, path := range r.Instances[0].Sensitive {
			if text := fmt.Sprint(path); !strings.Contains(text, "_wo_") { // sensitive marks of write-only arguments are not kept (docs/differences.md)
				paths = append(paths, text)
			}
		}
		slices.Sort(paths)
		out[r.Name+" values"], out[r.Name+" sensitive"] = r.Instances[0].Attributes, paths
	}
	return out
}
