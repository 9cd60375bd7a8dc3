package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// An outcome is the result of one step of a case, in terms of the language.
type outcome struct {
	planned  []string // planned outputs, sorted
	outputs  []string // outputs in the state, sorted
	diags    []message
	changes  string
	other    []string // results that must not occur: crashes, malformed output
	reported map[string]bool
}

// message is a diagnostic.
type message struct {
	Severity string
	Summary  string
	Detail   string
	Range    *struct {
		Filename string
		Start    struct{ Line int }
	}
}

// place returns the file and line, or "" if the message has none.
func (m *message) place() string {
	if m.Range == nil {
		return ""
	}
	return fmt.Sprintf("%s:%d", strings.ReplaceAll(m.Range.Filename, `\`, "/"), m.Range.Start.Line)
}

// line returns the message in the form of a `want` file.
func (m *message) line() string {
	title := strings.Join(strings.Fields(m.Summary), " ")
	if at := m.place(); at != "" {
		return m.Severity + " " + at + ": " + title
	}
	return m.Severity + ": " + title
}

// add adds a message, except if the outcome has a message with the same line and detail. Several commands report the
// same message.
func (o *outcome) add(m message) {
	key := m.line() + "\x00" + m.Detail
	if o.reported[key] {
		return
	}
	if o.reported == nil {
		o.reported = map[string]bool{}
	}
	o.reported[key] = true
	o.diags = append(o.diags, m)
}

func (o *outcome) failed() bool { return len(o.other) > 0 || o.hasErrors() }

func (o *outcome) hasErrors() bool {
	return slices.ContainsFunc(o.diags, func(m message) bool { return m.Severity == "error" })
}

// text returns the outcome in the form of a `want` file. It repeats the patterns below a diagnostic in want that match
// the detail. For a pattern that does not match, it returns the detail instead. Patterns after + apply only to Lethe,
// for which product is true.
func (o *outcome) text(want string, product bool) string {
	var b strings.Builder
	for _, group := range [][]string{o.planned, o.outputs} {
		for _, l := range group {
			b.WriteString(l + "\n")
		}
	}
	patterns := patternsOf(want)
	diags := slices.Clone(o.diags)
	slices.SortStableFunc(diags, func(x, y message) int { return byPlace(&x, &y) })
	for _, m := range folded(diags) {
		line := m.line()
		b.WriteString(line + "\n")
		if len(patterns[line]) == 0 {
			continue
		}
		for _, p := range patterns[line][0] {
			b.WriteString(matched(p, m.Detail, product) + "\n")
		}
		patterns[line] = patterns[line][1:]
	}
	if o.changes != "" {
		b.WriteString("changes: " + o.changes + "\n")
	}
	for _, l := range o.other {
		b.WriteString("unexpected: " + l + "\n")
	}
	return b.String()
}

// folded replaces more than manyTimes messages with the same severity and title by a message that has no place and has
// their number in its title.
func folded(diags []message) []message {
	times := map[string]int{}
	for _, m := range diags {
		times[m.Severity+m.Summary]++
	}
	var out []message
	for _, m := range diags {
		switch n := times[m.Severity+m.Summary]; {
		case n > manyTimes:
			times[m.Severity+m.Summary] = -1
			m.Summary, m.Range = fmt.Sprintf("%s (%d times)", m.Summary, n), nil
			out = append(out, m)
		case n > 0:
			out = append(out, m)
		}
	}
	return out
}

const manyTimes = 30 // more messages with one title are counted instead of listed

// byPlace orders messages by file and line, and then by text. Messages without a place are first.
func byPlace(x, y *message) int {
	a, b := x.Range, y.Range
	switch {
	case a == nil && b == nil:
		return strings.Compare(x.line(), y.line())
	case a == nil:
		return -1
	case b == nil:
		return 1
	case a.Filename != b.Filename:
		return strings.Compare(a.Filename, b.Filename)
	case a.Start.Line != b.Start.Line:
		return a.Start.Line - b.Start.Line
	}
	return strings.Compare(x.line(), y.line())
}

// patternsOf returns the patterns below each line of a `want` file, by line. A line that occurs several times has
// several groups, in the order of the file.
func patternsOf(want string) map[string][][]string {
	found := map[string][][]string{}
	last := ""
	for _, l := range strings.Split(want, "\n") {
		if strings.HasPrefix(l, "  ~ ") || strings.HasPrefix(l, "  + ") {
			if g := found[last]; len(g) > 0 {
				g[len(g)-1] = append(g[len(g)-1], l)
			}
			continue
		}
		last = l
		found[last] = append(found[last], nil)
	}
	return found
}

// matched returns the pattern if it matches the detail or does not apply to the program, and the detail otherwise. If
// the pattern is invalid, it returns the error.
func matched(pattern, detail string, product bool) string {
	if strings.HasPrefix(pattern, "  + ") && !product {
		return pattern
	}
	re, err := regexp.Compile(pattern[4:])
	if err != nil {
		return "  bad pattern: " + err.Error()
	}
	if flat := strings.Join(strings.Fields(detail), " "); !re.MatchString(flat) {
		return "  detail: " + flat
	}
	return pattern
}

// stateOutputs returns the root outputs of a state in format version 4, sorted, and nothing if raw is empty. Generated
// IDs of terraform_data are written as <id>. Malformed JSON and another version are errors.
func stateOutputs(raw []byte) ([]string, error) {
	var s struct {
		Version int
		Outputs map[string]struct {
			Value     json.RawMessage
			Type      json.RawMessage
			Sensitive bool
		}
		Resources []struct {
			Type      string
			Instances []struct{ Attributes struct{ ID any } }
		}
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, err
	}
	if s.Version != 4 {
		return nil, fmt.Errorf("state of version %d", s.Version)
	}
	var ids []string // generated by the run; only the kind is shown
	for _, r := range s.Resources {
		for _, i := range r.Instances {
			if id, ok := i.Attributes.ID.(string); ok && r.Type == "terraform_data" && id != "" {
				ids = append(ids, id, "<id>")
			}
		}
	}
	hide := strings.NewReplacer(ids...)
	var lines []string
	for name, o := range s.Outputs {
		sensitive := ""
		if o.Sensitive {
			sensitive = "sensitive "
		}
		lines = append(lines, fmt.Sprintf("%s: %s%s = %s", name, sensitive, typeText(o.Type), hide.Replace(valueText(o.Value))))
	}
	slices.Sort(lines)
	return lines, nil
}

// plannedOutputs returns the changed outputs in the output of `show -json` of a plan, sorted. Unknown values are
// written as unknown, also inside other values. Malformed JSON is an error.
func plannedOutputs(raw []byte) ([]string, error) {
	var p struct {
		OutputChanges map[string]struct {
			Actions        []string
			After          any
			AfterUnknown   any `json:"after_unknown"`
			AfterSensitive any `json:"after_sensitive"`
		} `json:"output_changes"`
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&p); err != nil {
		return nil, err
	}
	var lines []string
	for name, c := range p.OutputChanges {
		sensitive := ""
		if c.AfterSensitive == true {
			sensitive = "sensitive "
		}
		if slices.Equal(c.Actions, []string{"delete"}) {
			lines = append(lines, fmt.Sprintf("plan %s removed", name))
			continue
		}
		lines = append(lines, fmt.Sprintf("plan %s = %s%s", name, sensitive, partText(c.After, c.AfterUnknown)))
	}
	slices.Sort(lines)
	return lines, nil
}

// partText formats a value whose parts may be unknown. unknown is true for an unknown value, and a list or an object
// for a value with unknown parts.
func partText(v, unknown any) string {
	if unknown == true {
		return "unknown"
	}
	switch u := unknown.(type) {
	case []any:
		list, _ := v.([]any)
		var parts []string
		for i := range max(len(u), len(list)) {
			parts = append(parts, partText(at(list, i), at(u, i)))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case map[string]any:
		m, _ := v.(map[string]any)
		names := map[string]bool{}
		for k := range u {
			names[k] = true
		}
		for k := range m {
			names[k] = true
		}
		var parts []string
		for _, k := range slices.Sorted(keys(names)) {
			parts = append(parts, fmt.Sprintf("%s:%s", quoted(k), partText(m[k], u[k])))
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	return written(v)
}

// at returns the element i of a list, or nil if the list is shorter.
func at(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// valueText normalizes JSON. Numbers keep their text. Malformed JSON is returned unchanged.
func valueText(raw json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return string(raw)
	}
	return written(v)
}

func written(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func quoted(s string) string { return written(s) }

// typeText formats a type of a state in the syntax of the language. Malformed JSON is returned unchanged.
func typeText(raw json.RawMessage) string {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return string(raw)
	}
	return typeOf(v)
}

func typeOf(v any) string {
	parts, ok := v.([]any)
	if !ok {
		if v == "dynamic" {
			return "any"
		}
		return fmt.Sprint(v)
	}
	kind := parts[0].(string)
	switch inner := parts[1].(type) {
	case map[string]any: // object
		var attrs []string
		for _, k := range slices.Sorted(keys(inner)) {
			attrs = append(attrs, k+"="+typeOf(inner[k]))
		}
		return kind + "({" + strings.Join(attrs, ", ") + "})"
	case []any:
		if kind != "tuple" { // a collection of collections
			return kind + "(" + typeOf(inner) + ")"
		}
		var elems []string
		for _, e := range inner {
			elems = append(elems, typeOf(e))
		}
		return "tuple([" + strings.Join(elems, ", ") + "])"
	}
	return kind + "(" + typeOf(parts[1]) + ")"
}
