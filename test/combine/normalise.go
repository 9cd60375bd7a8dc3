package combine

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/test/combine/box"
)

// Two programs make different random IDs and write different additional data. Both are removed before a comparison.

// names maps the random IDs in states to names for comparisons. count is the number of known IDs by address.
type names struct {
	known map[string]string
	count map[string]int
}

func newNames() *names { return &names{known: map[string]string{}, count: map[string]int{}} }

var uuid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// learn records IDs by the addresses at which they occur.
func (n *names) learn(s *State) {
	s.managed(func(r *StateResource, i *StateInstance) {
		id := i.id()
		if !uuid.MatchString(id) || n.known[id] != "" {
			return
		}
		addr := n.replacer().Replace(i.addr(r)) // replace IDs, because an instance key may be an ID
		n.count[addr]++
		n.known[id] = fmt.Sprintf("id %d of %s", n.count[addr], strings.NewReplacer(`"`, "'", `\\`, "").Replace(addr))
	})
}

// plain returns a document with names in place of IDs and with sorted sets. It returns a text if the document has no
// JSON form.
func (n *names) plain(v any) any {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	var out any
	if err := json.Unmarshal([]byte(n.replacer().Replace(string(b))), &out); err != nil {
		return err.Error()
	}
	return ordered(out)
}

// replacer returns a replacer of the known IDs by their names, and of IDs in upper case by names in upper case.
func (n *names) replacer() *strings.Replacer {
	var pairs []string
	for id, name := range n.known {
		pairs = append(pairs, id, name, strings.ToUpper(id), strings.ToUpper(name))
	}
	return strings.NewReplacer(pairs...)
}

// ordered sorts the sets in a document, in place, and returns the document. In the document names must be in place of
// IDs, so that the order does not depend on IDs.
func ordered(v any) any {
	switch v := v.(type) {
	case object:
		for k, e := range v {
			v[k] = ordered(e)
			if list, ok := v[k].([]any); ok && box.Unordered(k) {
				slices.SortFunc(list, func(a, b any) int { return strings.Compare(compact(a), compact(b)) })
			}
		}
	case []any:
		for i, e := range v {
			v[i] = ordered(e)
		}
	}
	return v
}

type object = map[string]any

// get returns the value at a path of members, or nil if a member is missing or a value on the path is no object.
func get(v any, path ...string) any {
	for _, p := range path {
		m, _ := v.(object)
		v = m[p]
	}
	return v
}

// planOf returns the compared parts of a plan. A key is the section, a bar, and the address.
func planOf(doc object) map[string]any {
	out := map[string]any{}
	for _, section := range []string{"resource_changes", "resource_drift"} {
		list, _ := doc[section].([]any)
		for _, c := range list {
			addr, _ := get(c, "address").(string)
			if get(c, "deposed") != nil {
				addr += " deposed"
			}
			put := func(what string, v any) { out[section+" "+what+"|"+addr] = v }
			put("actions", get(c, "change", "actions"))
			put("reason", get(c, "action_reason"))
			put("previous", get(c, "previous_address"))
			put("importing", get(c, "change", "importing"))
			put("before", get(c, "change", "before"))
			put("after", get(c, "change", "after"))
			put("unknown", pruned(get(c, "change", "after_unknown")))
			put("before sensitive", pruned(get(c, "change", "before_sensitive")))
			put("after sensitive", pruned(get(c, "change", "after_sensitive")))
			put("replaced for", sorted(get(c, "change", "replace_paths")))
		}
	}
	outputs, _ := doc["output_changes"].(object)
	for name, c := range outputs {
		if slices.Equal(actions(c.(object)), []string{"no-op"}) {
			continue // skip outputs that -target excludes, because Terraform omits them
		}
		out["output_changes actions|"+name] = get(c, "actions")
		out["output_changes before|"+name] = get(c, "before")
		out["output_changes after|"+name] = []any{get(c, "after"), pruned(get(c, "after_unknown")), pruned(get(c, "after_sensitive"))}
	}
	for addr, status := range checks(doc["checks"]) {
		out["checks|"+addr] = status
	}
	for _, flag := range []string{"errored", "applyable", "complete"} {
		out["flag "+flag+"|"] = doc[flag]
	}
	return out
}

// checks returns the results of conditions by address.
func checks(list any) map[string]any {
	out := map[string]any{}
	all, _ := list.([]any)
	for _, c := range all {
		addr, _ := get(c, "address", "to_display").(string)
		out[addr] = get(c, "status")
		if addr == "" { // the result comes from a state, which has no such member
			out[fmt.Sprint(get(c, "config_addr"))] = get(c, "status")
		}
		instances, _ := get(c, "instances").([]any)
		for _, i := range instances {
			at, _ := get(i, "address", "to_display").(string)
			out[addr+" "+at] = []any{get(i, "status"), get(i, "problems")}
		}
	}
	delete(out, "")
	return out
}

// stateOf returns the compared parts of a state. A key is the section, a bar, and the address.
func stateOf(s *State) map[string]any {
	out := map[string]any{}
	for name, v := range s.Outputs {
		out["outputs|"+name] = []any{get(v, "value"), get(v, "type"), get(v, "sensitive")}
	}
	for _, r := range s.Resources {
		host := strings.NewReplacer("registry.opentofu.org", "registry", "registry.terraform.io", "registry")
		for _, i := range r.Instances {
			addr := i.addr(r)
			if i.Deposed != "" {
				addr += " deposed"
			}
			out["provider|"+addr] = host.Replace(r.Provider)
			out["attributes|"+addr] = i.Attributes
			out["status|"+addr] = i.Status
			out["sensitive|"+addr] = sorted(i.Sensitive)
			if r.Mode != "managed" {
				continue
			}
			out["dependencies|"+addr] = managed(i.Dependencies)
			out["create first|"+addr] = i.CreateFirst
		}
	}
	return out
}

// managed returns the dependencies that matter for the order of destroys, sorted, in one text: those on managed
// objects.
func managed(all []string) string {
	var list []string
	for _, d := range all {
		if !strings.Contains("."+d, ".data.") && !strings.Contains("."+d, ".ephemeral.") {
			list = append(list, d)
		}
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// pruned returns a value without false, empty objects, and lists that contain no true. If nothing remains, it returns
// nil.
func pruned(v any) any {
	switch v := v.(type) {
	case object:
		out := object{}
		for k, e := range v {
			if e := pruned(e); e != nil {
				out[k] = e
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case []any:
		if !anyTrue(v) {
			return nil
		}
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = pruned(e)
		}
		return out
	case bool:
		if !v {
			return nil
		}
	}
	return v
}

// sorted returns the elements of a list as sorted texts, or nil if the list is empty. It returns any other value
// unchanged.
func sorted(v any) any {
	var list []any
	switch v := v.(type) {
	case []any:
		list = v
	default:
		return v
	}
	texts := make([]string, 0, len(list))
	for _, e := range list {
		texts = append(texts, compact(e))
	}
	slices.Sort(texts)
	if len(texts) == 0 {
		return nil
	}
	return texts
}

// A Difference is a part of a document that differs between the two sides.
type Difference struct {
	What    string // the compared document: plan, state, checks, calls, second plan
	Section string // the section of the document, which is the class
	At      string // address
	A, B    any    // the values of Lethe and of Terraform
}

// ofChecks reports whether the difference is about results of conditions, in a plan or in a state.
func (d Difference) ofChecks() bool { return d.Section == "checks" || d.What == "checks" }

// differences returns the differences between two documents in the form of planOf. The parameter what is the label of
// each difference.
func differences(what string, a, b map[string]any) []Difference {
	var out []Difference
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if compact(a[k]) != compact(b[k]) {
			section, at, whole := strings.Cut(k, "|")
			if !whole {
				section, at = "result", k
			}
			out = append(out, Difference{what, section, at, a[k], b[k]})
		}
	}
	return out
}

// class returns a text that is the same for differences of the same kind.
func (d Difference) class() string {
	c := d.What + ": " + d.Section
	switch d.Section {
	case "resource_changes actions", "resource_changes reason", "resource_drift actions", "output_changes actions", "checks", "result", "status", "exits":
		c += fmt.Sprintf(" %s, not %s", compact(d.A), compact(d.B))
		if d.Section == "exits" {
			c += ": " + d.At
		}
	}
	return c
}
