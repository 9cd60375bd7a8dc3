package stateview

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/audit"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/view"
	"github.com/lethe-iac/lethe/internal/view/jsondoc"
)

// Secrets is a report about stored secrets.
type Secrets struct {
	*audit.Report
	Accepted audit.Baseline // secrets that the user has accepted; nil without a baseline file
	Hints    []string       // sentences about places that were not examined
}

// Fails reports whether a secret is stored in clear. If new is true, only secrets that are not in the baseline count.
func (r Secrets) Fails(new bool) bool {
	return slices.ContainsFunc(r.Findings, func(f *audit.Finding) bool { return f.Clear() && !(new && r.Accepted.Has(f)) })
}

// Text writes the report as text, and returns the error of w.
func (r Secrets) Text(w io.Writer) error {
	lines := [][]string{{"VALUE", "ADDRESS", "ATTRIBUTE", "REASON", "STORED IN", "REMEDY"}}
	if r.Accepted != nil {
		lines[0] = append(lines[0], "NEW")
	}
	for _, f := range r.Findings {
		line := []string{Labels(f.Labels), f.Address, f.Path, string(f.Reason), strings.Join(storedIn(f), ", "), remedy(f.Remedy)}
		if r.Accepted != nil {
			line = append(line, yes(!r.Accepted.Has(f)))
		}
		lines = append(lines, line)
	}
	if len(r.Findings) > 0 {
		if err := table(w, lines); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
	}
	for _, s := range r.summary() {
		if _, err := fmt.Fprintln(w, view.EscapeLine(s)); err != nil {
			return err
		}
	}
	return nil
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return ""
}

// mostLabels is the maximum number of labels that a line shows.
const mostLabels = 4

// Labels returns the labels (numbers) of values as text, such as "#1 #4". After mostLabels labels, it only states the
// number of the others.
func Labels(all []int) string {
	var out []string
	for _, n := range all[:min(len(all), mostLabels)] {
		out = append(out, "#"+strconv.Itoa(n))
	}
	if len(all) > mostLabels {
		return strings.Join(out, " ") + " and " + strconv.Itoa(len(all)-mostLabels) + " more"
	}
	return strings.Join(out, " ")
}

// storedIn returns the places in which the secret of a finding is stored.
func storedIn(f *audit.Finding) []string {
	var out []string
	for _, p := range f.Places {
		out = append(out, placeText(p))
	}
	if n := len(f.Versions); n > 0 {
		out = append(out, diag.Counted(n, "earlier version", "earlier versions"))
	}
	return out
}

func placeText(p *audit.Place) string {
	name := p.Name
	if p.Kind == audit.State {
		name = "state"
	}
	if p.Encrypted {
		name += " (encrypted)"
	}
	return name
}

func remedy(r audit.Remedy) string {
	switch r.Kind {
	case audit.WriteOnly:
		return "write-only argument " + r.Argument
	case audit.Ephemeral:
		return "ephemeral resource " + r.Type
	}
	return string(r.Kind)
}

// summary returns the sentences after the list.
func (r Secrets) summary() []string {
	clear := r.Clear()
	var out []string
	switch {
	case clear == 0 && len(r.Findings) == 0:
		out = append(out, "No secret was found.")
	case clear == 0:
		out = append(out, "No secret is stored in clear.")
	case clear == 1:
		out = append(out, fmt.Sprintf("1 secret is stored in clear (%s).", diag.Counted(r.Values, "value", "different values")))
	default:
		out = append(out, fmt.Sprintf("%d secrets are stored in clear (%s).", clear, diag.Counted(r.Values, "value", "different values")))
	}
	switch n := len(r.Findings) - clear; {
	case n == 1:
		out = append(out, "1 secret is stored only in encrypted states or plans.")
	case n > 1:
		out = append(out, fmt.Sprintf("%d secrets are stored only in encrypted states or plans.", n))
	}
	if r.Accepted != nil {
		fresh := 0
		for _, f := range r.Findings {
			if f.Clear() && !r.Accepted.Has(f) {
				fresh++
			}
		}
		out = append(out, fmt.Sprintf("New, compared with the baseline: %d.", fresh))
	}
	if r.Short > 0 {
		out = append(out, diag.Counted(r.Short, "value is", "values are")+" too short or too common to be searched for inside other values.")
	}
	return append(out, r.limits()...)
}

// consequences describes, for each kind of gap (a part that could not be examined), how far the objects were examined.
var consequences = map[audit.GapKind]string{
	audit.NoSchema:    "only attributes that the state records as sensitive were found",
	audit.OtherSchema: "of some objects, only attributes that the state records as sensitive were found",
	audit.NoAdvice:    "all sensitive attributes were found, but only write-only arguments with usual names are remedies",
}

// limits returns the sentences about parts that were not examined.
func (r Secrets) limits() []string {
	var out []string
	for _, g := range r.Gaps {
		out = append(out, fmt.Sprintf("Incomplete: %s of provider %s: %s. %s", strings.Join(g.Types, ", "), g.Provider.ForDisplay(), consequences[g.Kind], strings.ReplaceAll(g.Problem, "\n", " ")))
	}
	for _, name := range r.Packed {
		out = append(out, "Incomplete: "+name+" has a value with so much packed into it that it was not searched.")
	}
	for _, p := range r.Places {
		if p.Problem != "" {
			out = append(out, fmt.Sprintf("Incomplete: %s: %s", p.Name, strings.ReplaceAll(p.Problem, "\n", " ")))
		}
	}
	for _, h := range r.Hints {
		out = append(out, "Not examined: "+h)
	}
	return out
}

// secretsDocument is the document of `secrets -json`.
type secretsDocument struct {
	Format   string           `json:"format_version"`
	Clear    int              `json:"secrets_in_clear"`
	Sealed   int              `json:"secrets_encrypted"`
	Values   int              `json:"different_values"`
	Short    int              `json:"values_not_searched_for"`
	Complete bool             `json:"complete"`
	Secrets  []secretDocument `json:"secrets"`
	Places   []placeDocument  `json:"places"`
	Gaps     []gapDocument    `json:"incomplete"`
	Packed   []string         `json:"not_searched"`
	Hints    []string         `json:"not_examined"`
}

type secretDocument struct {
	Address   string           `json:"address"`
	Attribute string           `json:"attribute,omitempty"`
	Reason    audit.Reason     `json:"reason"`
	Values    []int            `json:"values"`
	Clear     bool             `json:"in_clear"`
	New       *bool            `json:"new,omitempty"`
	Places    []string         `json:"places"`
	Versions  []jsondoc.Serial `json:"earlier_versions"`
	Remedy    remedyDocument   `json:"remedy"`
}

type remedyDocument struct {
	Kind     audit.RemedyKind `json:"kind"`
	Argument string           `json:"argument,omitempty"`
	Type     string           `json:"type,omitempty"`
}

type placeDocument struct {
	Kind      audit.Kind     `json:"kind"`
	Name      string         `json:"name"`
	Serial    jsondoc.Serial `json:"serial"`
	Time      string         `json:"written,omitempty"`
	Encrypted bool           `json:"encrypted"`
	Problem   string         `json:"problem,omitempty"`
}

type gapDocument struct {
	Kind     audit.GapKind `json:"kind"`
	Provider string        `json:"provider"`
	Types    []string      `json:"types"`
	Problem  string        `json:"problem"`
}

// JSON writes the report as one line of JSON, in the form of secretsDocument, and returns the error of w. No field has
// a secret: the document identifies a secret by an address, an attribute and a label (a number).
func (r Secrets) JSON(w io.Writer) error {
	clear := r.Clear()
	doc := secretsDocument{
		Format: "1.0", Clear: clear, Sealed: len(r.Findings) - clear, Values: r.Values, Short: r.Short,
		Secrets: []secretDocument{}, Places: []placeDocument{}, Gaps: []gapDocument{}, Packed: append([]string{}, r.Packed...), Hints: append([]string{}, r.Hints...),
	}
	doc.Complete = len(r.Gaps)+len(r.Packed) == 0
	for _, f := range r.Findings {
		d := secretDocument{
			Address: f.Address, Attribute: f.Path, Reason: f.Reason, Values: append([]int{}, f.Labels...), Clear: f.Clear(),
			Places: []string{}, Versions: []jsondoc.Serial{}, Remedy: remedyDocument(f.Remedy),
		}
		if r.Accepted != nil {
			fresh := !r.Accepted.Has(f)
			d.New = &fresh
		}
		for _, p := range f.Places {
			d.Places = append(d.Places, p.Name)
		}
		for _, p := range f.Versions {
			d.Versions = append(d.Versions, jsondoc.Serial(p.Serial))
		}
		doc.Secrets = append(doc.Secrets, d)
	}
	for _, p := range r.Places {
		d := placeDocument{Kind: p.Kind, Name: p.Name, Serial: jsondoc.Serial(p.Serial), Encrypted: p.Encrypted, Problem: p.Problem}
		if !p.Time.IsZero() {
			d.Time = p.Time.UTC().Format(time.RFC3339Nano)
		}
		doc.Complete = doc.Complete && p.Problem == ""
		doc.Places = append(doc.Places, d)
	}
	for _, g := range r.Gaps {
		doc.Gaps = append(doc.Gaps, gapDocument{g.Kind, g.Provider.String(), g.Types, g.Problem})
	}
	return jsondoc.Write(w, doc, jsondoc.OneLine)
}
