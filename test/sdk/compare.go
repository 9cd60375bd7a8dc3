package sdk

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/test/sdk/provider"
)

// A Difference is a place where the engines differ.
type Difference struct {
	Step    int
	What    string // the compared data: plan, apply, state, second plan, calls of plan, ...
	Section string
	At      string // the address of an object, or the name of a piece
	A, B    any    // A is the value of Lethe, B of Terraform; nil if an engine has no value
	On      string // the resource type of the object
	Replace bool   // Lethe plans to replace the object in this step
	Delete  bool   // Lethe plans to destroy or to forget the object in this step, and nothing else
	Failed  bool   // an engine reported an error for an object of the piece in this step
}

func (d Difference) String() string {
	s := fmt.Sprintf("step %d, %s: %s of %s", d.Step, d.What, d.Section, d.At)
	for _, p := range places(d.A, d.B, "") {
		s += fmt.Sprintf("\n    %s: lethe %s, terraform %s", p.path, short(p.a), short(p.b))
	}
	return s
}

func short(v any) string {
	s := text(v)
	if len(s) > 300 {
		s = s[:300] + "..."
	}
	return s
}

type place struct {
	path string
	a, b any
}

// places returns the innermost places in which two values differ, or nil if they are equal. path is the path of the
// values.
func places(a, b any, path string) []place {
	if text(a) == text(b) {
		return nil
	}
	switch x := a.(type) {
	case obj:
		if y, ok := b.(obj); ok {
			keys := maps.Clone(x)
			maps.Copy(keys, y)
			var all []place
			for _, k := range slices.Sorted(maps.Keys(keys)) {
				all = append(all, places(x[k], y[k], path+"."+k)...)
			}
			if len(all) == 0 {
				return []place{{path, a, b}}
			}
			return all
		}
	case list:
		if y, ok := b.(list); ok && len(x) == len(y) {
			var all []place
			for i := range x {
				all = append(all, places(x[i], y[i], fmt.Sprintf("%s[%d]", path, i))...)
			}
			return all
		}
	}
	return []place{{path, a, b}}
}

// class returns a text that is the same for differences that probably have one cause.
func (d Difference) class() string {
	c := d.On + " " + d.What + " " + strings.TrimRight(d.Section, "0123456789")
	if d.Section == "actions" || d.Section == "exit" {
		c += " " + text(d.A) + text(d.B)
	}
	return c
}

// text returns a value as JSON, or the error if it has no JSON form.
func text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// A sheet holds the compared data, by "order~section|address". The order is a digit.
type sheet map[string]any

// typeName finds the type in an address.
var typeName = regexp.MustCompile(`(?:^|\.)(\w+)\.a[0-9]+`)

// differ returns the differences between two sheets, in the order of their keys. The parameter what is the label of
// each difference.
func differ(what string, a, b sheet) []Difference {
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	var out []Difference
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if text(a[k]) == text(b[k]) {
			continue
		}
		section, at, _ := strings.Cut(k, "|")
		_, section, _ = strings.Cut(section, "~")
		on := ""
		if m := typeName.FindAllStringSubmatch(at, -1); m != nil {
			on = m[len(m)-1][1]
		}
		out = append(out, Difference{What: what, Section: section, At: at, A: a[k], B: b[k], On: on})
	}
	return out
}

// compare compares a step of Lethe with the same step of Terraform. After a different exit code of a plan or apply it
// compares nothing more.
func compare(c Command, p, q *Outcome) []Difference {
	var all []Difference
	for i := range min(len(p.Before), len(q.Before)) {
		for _, d := range results("before", p.Before[i], q.Before[i]) {
			d.At = owner(p.Before[i].Args) + " before" // only this piece differs after the command, so other pieces are compared
			all = append(all, d)
		}
	}
	plan := "plan"
	if c.Destroy {
		plan = "destroy plan"
	}
	all = append(all, results(plan, p.Plan, q.Plan)...)
	if (p.Apply == nil) != (q.Apply == nil) {
		return all
	}
	all = append(all, results("apply", p.Apply, q.Apply)...)
	if slices.ContainsFunc(all, func(d Difference) bool { return d.Section == "exit" && d.What != "before" }) {
		return all
	}
	all = append(all, differ("state", stateOf(p.State), stateOf(q.State))...)
	all = append(all, results("second plan", p.Second, q.Second)...)
	failed := map[string]bool{}
	for _, o := range []*Outcome{p, q} {
		for _, r := range []*Result{o.Plan, o.Apply} {
			if r == nil {
				continue
			}
			for at := range r.Blamed {
				failed[owner(at)] = true
			}
		}
	}
	for i := range all {
		all[i].Failed = failed[owner(all[i].At)]
	}
	return all
}

// results compares the results of a command, and returns nil if one of them is nil. The parameter what names the
// command.
func results(what string, p, q *Result) []Difference {
	if p == nil || q == nil {
		return nil
	}
	var all []Difference
	for _, d := range blamed(p, q) {
		if what == "before" { // exit codes are compared; the errors of import name the object in another way
			break
		}
		d.What = what
		all = append(all, d)
	}
	if p.Plan != nil && q.Plan != nil {
		ours := planOf(p.Plan)
		for _, d := range differ(what, ours, planOf(q.Plan)) {
			action := text(ours["1~actions|"+d.At])
			d.Delete = action == `["delete"]` || action == `["forget"]`
			d.Replace = strings.Contains(text(ours["1~actions|"+d.At]), "delete")
			all = append(all, d)
		}
	}
	if what == "apply" || p.Exit != 1 && q.Exit != 1 { // a failed plan makes fewer calls, so the calls are not compared
		all = append(all, differ(what, callsOf(what, p.Calls), callsOf(what, q.Calls))...)
	}
	if p.Exit != q.Exit {
		at := ""
		if len(all) > 0 {
			at = all[0].At
		}
		d := Difference{What: what, Section: "exit", At: at, A: p.Exit, B: q.Exit}
		d.A, d.B = fmt.Sprint(p.Exit, " ", errorsOf(p.Out)), fmt.Sprint(q.Exit, " ", errorsOf(q.Out))
		// Other differences follow from the error, unless they name an object.
		if p.Exit == 1 || q.Exit == 1 {
			all = slices.DeleteFunc(all, func(d Difference) bool { return d.Section != "has an error" })
		}
		if i := strings.Index(q.Out, "Error: "); i >= 0 && len(all) == 0 && os.Getenv("SDK_VERBOSE") != "" {
			fmt.Println("TERRAFORM", q.Out[i:min(len(q.Out), i+1500)])
		}
		if i := strings.Index(p.Out, "Error: "); i >= 0 && len(all) == 0 && os.Getenv("SDK_VERBOSE") != "" {
			fmt.Println("LETHE", p.Out[i:min(len(p.Out), i+1500)])
		}
		all = append(all, d)
	}
	return all
}

// errorsOf returns the titles of the errors in the output of a command, sorted and each once.
func errorsOf(out string) []string {
	var all []string
	for line := range strings.Lines(out) {
		if t, ok := strings.CutPrefix(strings.TrimLeft(strings.TrimSpace(line), "│╷ "), "Error: "); ok {
			all = append(all, t)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// blamed returns the pieces for which only one engine reports errors. An error prevents the engine from processing
// other objects of the piece, so both may report errors for different objects.
func blamed(p, q *Result) []Difference {
	a, b := sheet{}, sheet{}
	missing := func(in sheet, r, other *Result) {
		for at, title := range r.Blamed {
			found := slices.Contains(errorsOf(other.Out), title)
			for to := range other.Blamed {
				found = found || owner(to) == owner(at)
			}
			if !found {
				in["0~has an error|"+at] = title
			}
		}
	}
	missing(a, p, q)
	missing(b, q, p)
	return differ("", a, b)
}

func get(v any, path ...string) any {
	for _, p := range path {
		m, _ := v.(obj)
		v = m[p]
	}
	return v
}

// planOf returns the compared parts of a plan. The digit before a section is its order: earlier differences explain
// later ones.
func planOf(doc obj) sheet {
	out := sheet{}
	for _, section := range []string{"resource_changes", "resource_drift"} {
		all, _ := doc[section].(list)
		for _, c := range all {
			at, _ := get(c, "address").(string)
			if d, ok := get(c, "deposed").(string); ok && d != "" {
				at += " deposed"
			}
			put := func(n int, what string, v any) {
				if section == "resource_drift" {
					n, what = n+5, "drift "+what
				}
				out[fmt.Sprintf("%d~%s|%s", n, what, at)] = v
			}
			put(1, "actions", get(c, "change", "actions"))
			put(2, "reason", get(c, "action_reason"))
			put(2, "previous address", get(c, "previous_address"))
			put(2, "importing", get(c, "change", "importing"))
			put(2, "replace paths", sorted(get(c, "change", "replace_paths")))
			put(3, "before", get(c, "change", "before"))
			put(3, "after", get(c, "change", "after"))
			put(3, "unknown", pruned(get(c, "change", "after_unknown")))
			put(4, "before sensitive", pruned(get(c, "change", "before_sensitive")))
			put(4, "after sensitive", pruned(get(c, "change", "after_sensitive")))
		}
	}
	plannedValues(out, get(doc, "planned_values", "root_module"))
	outputs, _ := doc["output_changes"].(obj)
	for name, c := range outputs {
		if text(get(c, "actions")) == `["no-op"]` {
			continue
		}
		out["5~output actions|"+name] = get(c, "actions")
		out["5~output value|"+name] = list{get(c, "before"), get(c, "after"), pruned(get(c, "after_unknown")), pruned(get(c, "after_sensitive"))}
	}
	return out
}

// plannedValues adds the planned values and the schema versions of the resources in a module, and in the modules below
// it, to out.
func plannedValues(out sheet, module any) {
	resources, _ := get(module, "resources").(list)
	for _, r := range resources {
		at, _ := get(r, "address").(string)
		out["5~planned values|"+at] = get(r, "values")
		out["5~planned version|"+at] = get(r, "schema_version")
	}
	modules, _ := get(module, "child_modules").(list)
	for _, m := range modules {
		plannedValues(out, m)
	}
}

// pruned returns a value without false and null parts, or nil if nothing remains. Lists keep their length.
func pruned(v any) any {
	switch v := v.(type) {
	case obj:
		out := obj{}
		for k, e := range v {
			if e := pruned(e); e != nil {
				out[k] = e
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case list:
		out, some := make(list, len(v)), false
		for i, e := range v {
			out[i] = pruned(e)
			some = some || out[i] != nil
		}
		if !some {
			return nil
		}
		return out
	case bool:
		if !v {
			return nil
		}
	}
	return v
}

// sorted returns the elements of a list as sorted texts, each once. It returns nil for an empty list and for another
// value.
func sorted(v any) any {
	all, ok := v.(list)
	if !ok || len(all) == 0 {
		return nil
	}
	texts := []string{}
	for _, e := range all {
		texts = append(texts, text(e))
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

// stateOf returns the compared parts of a state: attributes and metadata of each object, and the outputs.
func stateOf(doc obj) sheet {
	out := sheet{}
	all, _ := doc["resources"].(list)
	for _, r := range all {
		instances, _ := get(r, "instances").(list)
		for _, i := range instances {
			at := fmt.Sprintf("%v.%v", get(r, "type"), get(r, "name"))
			if get(r, "mode") == "data" {
				at = "data." + at
			}
			if m, ok := get(r, "module").(string); ok {
				at = m + "." + at
			}
			if k := get(i, "index_key"); k != nil {
				at += "[" + text(k) + "]"
			}
			if d, ok := get(i, "deposed").(string); ok && d != "" {
				at += " deposed"
			}
			put := func(n int, what string, v any) { out[fmt.Sprintf("%d~%s|%s", n, what, at)] = v }
			put(1, "status", get(i, "status"))
			put(1, "provider", get(r, "provider"))
			put(1, "attributes", get(i, "attributes"))
			put(2, "schema version", get(i, "schema_version"))
			put(2, "sensitive", sorted(get(i, "sensitive_attributes")))
			if get(r, "mode") == "managed" {
				put(2, "private", get(i, "private"))
				put(3, "dependencies", sorted(get(i, "dependencies")))
				put(3, "create first", get(i, "create_before_destroy"))
			}
		}
	}
	outputs, _ := doc["outputs"].(obj)
	for name, o := range outputs {
		out["4~output|"+name] = o
	}
	return out
}

// callsOf returns the calls for each object, and the values in each request. The order of calls is not compared:
// Terraform plans undeclared objects before it reads them, and objects with the same name run in turn.
func callsOf(what string, calls []provider.Call) sheet {
	out := sheet{}
	names, sent := map[string][]string{}, map[string]map[string]any{}
	for _, c := range calls {
		at := c.Type + "." + c.Key
		if !compared(what, c) {
			continue
		}
		line := c.Call + " " + text(c.Req)
		if sent[at] == nil {
			sent[at] = map[string]any{}
		}
		if _, again := sent[at][line]; again || c.Call == "Upgrade" && slices.Contains(names[at], c.Call) {
			continue
		}
		sent[at][line] = c.Req
		names[at] = append(names[at], c.Call)
	}
	for at, l := range names {
		reads := 0
		for line := range sent[at] {
			if strings.HasPrefix(line, "Read ") {
				reads++
			}
		}
		if slices.Contains(l, "Move") || slices.Contains(l, "Import") || reads > 1 { // Upgrade is not compared for moved and imported objects, or for several objects with one name
			l = slices.DeleteFunc(l, func(call string) bool { return call == "Upgrade" })
			maps.DeleteFunc(sent[at], func(line string, _ any) bool { return strings.HasPrefix(line, "Upgrade ") })
		}
		slices.Sort(l)
		out["8~calls|"+at] = l
		count := map[string]int{}
		for _, line := range slices.Sorted(maps.Keys(sent[at])) {
			call, _, _ := strings.Cut(line, " ")
			count[call]++
			out[fmt.Sprintf("9~sent with %s %d|%s", call, count[call], at)] = sent[at][line]
		}
	}
	return out
}

// compared reports whether a call is compared. Terraform validates, upgrades and plans again during apply, and plans
// declared objects before it destroys them. Lethe does not, which makes no difference for users.
func compared(what string, c provider.Call) bool {
	switch {
	case c.Call == "Validate", c.Key == "" && c.Call != "Import":
		return false
	case what == "apply":
		return c.Call == "Apply"
	case what == "before":
		return c.Call == "Import"
	case what == "destroy plan":
		return c.Call != "ReadData" && (c.Call != "Plan" || c.Req["proposed"] == nil)
	}
	return true
}
