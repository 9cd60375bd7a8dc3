package view

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lang/vet"
)

// TestPlanJSONLikePeer compares the JSON of each recorded plan with the output of Terraform.
func TestPlanJSONLikePeer(t *testing.T) {
	schemas := loadSchemas(t)
	for _, c := range loadCases(t) {
		if c.files["plan.json"] == "" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			p := loadPlan(t, c.files["plan.json"], schemas, c.mode())
			var b bytes.Buffer
			if err := WritePlanJSON(&b, p, c.program(t, schemas), schemas.Of, nil, "1.11.4"); err != nil {
				t.Fatal(err)
			}
			want, got := parsed(t, c.files["plan.json"]), parsed(t, b.String())
			alikePlans(want, got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func parsed(t *testing.T, text string) map[string]any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var out map[string]any
	if err := dec.Decode(&out); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return out
}

// alikePlans removes the intended differences: types and default values of ephemeral variables, ephemeral resources,
// and data that the recordings do not have.
func alikePlans(want, got map[string]any) {
	module := func(m map[string]any) {
		vars, _ := m["variables"].(map[string]any)
		for _, v := range vars {
			v := v.(map[string]any)
			if v["ephemeral"] == true {
				delete(v, "default")
			}
			delete(v, "type")
			delete(v, "required")
			delete(v, "ephemeral")
		}
		var kept []any
		rs, ok := m["resources"].([]any)
		for _, r := range rs {
			if r.(map[string]any)["mode"] != "ephemeral" {
				kept = append(kept, r)
			}
		}
		if ok {
			m["resources"] = kept
		}
	}
	planned := map[string]map[string]any{}
	for _, doc := range []map[string]any{got, want} {
		delete(doc, "applyable") // Plan.Applyable decides about this member, not the view
		eachPlanned(doc["planned_values"].(map[string]any)["root_module"], planned)
		eachList(doc, uniqueReferences)
		if c, ok := doc["configuration"].(map[string]any); ok {
			eachModule(c["root_module"], module)
		}
		if v, ok := doc["variables"].(map[string]any); ok {
			delete(v, "eph")
		}
	}
	if c, ok := want["configuration"].(map[string]any); ok {
		if v, ok := c["root_module"].(map[string]any)["variables"].(map[string]any); ok && v["eph"] != nil {
			delete(v["eph"].(map[string]any), "default")
		}
	}
}

// eachPlanned changes a planned module and its child modules so that documents of Lethe and Terraform can be compared.
// It sorts resources by address, because Terraform sorts keys as text. It drops forgotten objects, whose values
// Terraform omits. It copies the sensitive_values of an address in seen into the module, because Terraform ignores the
// schema in updates, and adds the sensitive_values of the module to seen.
func eachPlanned(m any, seen map[string]map[string]any) {
	mod, ok := m.(map[string]any)
	if !ok {
		return
	}
	var kept []any
	rs, _ := mod["resources"].([]any)
	for _, r := range rs {
		r := r.(map[string]any)
		if r["values"] == nil {
			continue
		}
		address := r["address"].(string)
		if first := seen[address]; first != nil {
			for k, v := range first {
				r["sensitive_values"].(map[string]any)[k] = v
			}
		}
		seen[address], _ = r["sensitive_values"].(map[string]any)
		kept = append(kept, r)
	}
	delete(mod, "resources")
	if len(kept) > 0 {
		sort.Slice(kept, func(i, j int) bool {
			return kept[i].(map[string]any)["address"].(string) < kept[j].(map[string]any)["address"].(string)
		})
		mod["resources"] = kept
	}
	kids, _ := mod["child_modules"].([]any)
	for _, k := range kids {
		eachPlanned(k, seen)
	}
}

// uniqueReferences removes duplicates from a list of references.
func uniqueReferences(m map[string]any) {
	refs, ok := m["references"].([]any)
	if !ok {
		return
	}
	seen := map[any]bool{}
	var kept []any
	for _, r := range refs {
		if !seen[r] {
			kept = append(kept, r)
		}
		seen[r] = true
	}
	m["references"] = kept
}

// eachList calls f for each object in a JSON value, at any depth.
func eachList(v any, f func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		f(v)
		for _, e := range v {
			eachList(e, f)
		}
	case []any:
		for _, e := range v {
			eachList(e, f)
		}
	}
}

// eachModule calls f for a module of a configuration and for all modules below it.
func eachModule(m any, f func(map[string]any)) {
	mod, ok := m.(map[string]any)
	if !ok {
		return
	}
	f(mod)
	calls, _ := mod["module_calls"].(map[string]any)
	for _, c := range calls {
		eachModule(c.(map[string]any)["module"], f)
	}
}

// program compiles the configuration of the last step of a recording.
func (c peerCase) program(t *testing.T, schemas peerSchemas) *program.Program {
	t.Helper()
	dir := t.TempDir()
	last := "1"
	for c.files[string(last[0]+1)+".tf"] != "" {
		last = string(last[0] + 1)
	}
	put := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("main.tf", c.files[last+".tf"])
	for name, text := range c.files {
		if strings.HasPrefix(name, "mod/") {
			put(name, text)
		}
	}
	var bag diag.Bag
	resolve := func(_ addr.Module, _ *config.Call, parent *config.Node, _ *diag.Bag) (string, string, string, bool) {
		return filepath.Join(parent.Module.Dir, "mod"), "./mod", "", true
	}
	tree, ok := config.LoadTree(dir, config.Options{}, resolve, &bag)
	if !ok {
		t.Fatal(bag.List())
	}
	prog, ok := lang.Compile(tree, &bag)
	if !ok {
		t.Fatal(bag.List())
	}
	vet.Check(prog, schemas.Of, vet.CheckOptions{BodiesOnly: true}, &bag)
	return prog
}
