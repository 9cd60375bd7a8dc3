package explainview

import (
	"fmt"
	"io"
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/explain"
	"github.com/lethe-iac/lethe/internal/view/jsondoc"
)

// mostUsers is the maximum number of users of a value, and of effects, that the text lists. The JSON document has all
// of them.
const mostUsers = 50

// Value writes the explanation of a value as text. It returns the first error of w.
func Value(w io.Writer, v *explain.Value) error {
	p := &printer{w: w}
	p.line(0, v.Address)
	head := v.Kind
	if len(v.Facts) > 0 {
		head += " (" + strings.Join(v.Facts, ", ") + ")"
	}
	p.line(1, withPlace(head, v.At))
	if len(v.From.From) > 0 || v.From.How != "" {
		p.head("Where does the value come from?")
		p.sources(v.From, 1)
	}
	p.reasons("Why is it sensitive?", v.Sensitive)
	p.reasons("Why is it ephemeral?", v.Ephemeral)
	p.reasons("When is it unknown?", v.Unknown)
	p.head("Who uses it?")
	if len(v.Users) == 0 {
		p.line(1, "Nothing in the configuration uses it.")
	}
	for i, u := range v.Users {
		if i == mostUsers {
			p.line(1, fmt.Sprintf("and %d more (-json lists all)", len(v.Users)-i))
			break
		}
		text := u.Address()
		if how := u.How(); how != "" {
			text += ", in " + how
		}
		p.line(1, withPlace(text, u.At))
	}
	if len(v.Effects) > 0 {
		p.head("What does a change do?")
	}
	for i, e := range v.Effects {
		if i == mostUsers {
			p.line(1, fmt.Sprintf("and %d more (-json lists all)", len(v.Effects)-i))
			break
		}
		p.line(1, e.Address+" "+e.Text+".")
	}
	if len(v.Planned) > 0 {
		p.head("What does the plan change?")
	}
	for _, c := range v.Planned {
		text := c.Address + ": " + c.Action.String()
		if len(c.Reasons) > 0 {
			text += " (" + strings.Join(c.Reasons, "; ") + ")"
		}
		p.line(1, text)
	}
	if l := v.Lease; l != nil {
		p.head("When is the lease open?")
		p.line(1, strings.TrimSpace(l.Opens+" "+l.Closes))
		if len(l.Receivers) > 0 {
			p.line(1, "Receivers: "+strings.Join(l.Receivers, ", ")+".")
		}
	}
	return p.err
}

func (p *printer) head(text string) {
	p.line(0, "")
	p.line(0, text)
}

func withPlace(text string, r diag.Range) string {
	if r.Filename == "" {
		return text
	}
	return fmt.Sprintf("%s, %s:%d", text, r.Filename, r.Start.Line)
}

// sources writes a source of a value, and below it, indented, the sources that it depends on. depth is the number of
// indentation steps of the first line.
func (p *printer) sources(s *explain.Source, depth int) {
	text := s.Name
	if depth > 1 {
		text = "← " + text
	}
	text = withPlace(text, s.At)
	if s.How != "" {
		text += ": " + s.How
	}
	p.line(depth, text)
	for _, from := range s.From {
		p.sources(from, depth+1)
	}
}

func (p *printer) reasons(head string, list []explain.Reason) {
	if len(list) == 0 {
		return
	}
	p.head(head)
	for _, r := range list {
		text := r.Text
		if r.At.Filename != "" {
			text += fmt.Sprintf(" (%s:%d)", r.At.Filename, r.At.Start.Line)
		}
		p.line(1, text)
	}
}

type valueDocument struct {
	Format    string            `json:"format_version"`
	Address   string            `json:"address"`
	Kind      string            `json:"kind"`
	At        *rangeDocument    `json:"range,omitempty"`
	Facts     []string          `json:"facts,omitempty"`
	From      sourceDocument    `json:"value_from"`
	Sensitive []reasonDocument  `json:"sensitive"`
	Ephemeral []reasonDocument  `json:"ephemeral"`
	Unknown   []reasonDocument  `json:"unknown"`
	Users     []userDocument    `json:"users"`
	Effects   []effectDocument  `json:"effects"`
	Planned   []plannedDocument `json:"planned_changes"`
	Lease     *leaseDocument    `json:"lease,omitempty"`
}

type sourceDocument struct {
	Name string           `json:"name"`
	At   *rangeDocument   `json:"range,omitempty"`
	How  string           `json:"how,omitempty"`
	From []sourceDocument `json:"value_from,omitempty"`
}

type reasonDocument struct {
	Text string         `json:"text"`
	At   *rangeDocument `json:"range,omitempty"`
}

type userDocument struct {
	Address string         `json:"address"`
	How     string         `json:"how,omitempty"`
	At      *rangeDocument `json:"range,omitempty"`
}

type effectDocument struct {
	Address  string         `json:"address"`
	Text     string         `json:"effect"`
	Receives bool           `json:"receives_value"`
	At       *rangeDocument `json:"range,omitempty"`
}

type plannedDocument struct {
	Address string   `json:"address"`
	Action  string   `json:"action"`
	Reasons []string `json:"reasons,omitempty"`
}

type leaseDocument struct {
	Opens     string   `json:"opens"`
	Closes    string   `json:"closes,omitempty"`
	Receivers []string `json:"receivers"`
	FromPlan  bool     `json:"from_plan"`
}

func sourceOf(s *explain.Source) sourceDocument {
	d := sourceDocument{Name: s.Name, At: at(s.At), How: s.How}
	for _, from := range s.From {
		d.From = append(d.From, sourceOf(from))
	}
	return d
}

func reasonsOf(list []explain.Reason) []reasonDocument {
	out := []reasonDocument{}
	for _, r := range list {
		out = append(out, reasonDocument{r.Text, at(r.At)})
	}
	return out
}

// ValueJSON writes the explanation of a value as one line of JSON, in the form of valueDocument, and returns the error
// of w.
func ValueJSON(w io.Writer, v *explain.Value) error {
	doc := valueDocument{
		Format: "1.0", Address: v.Address, Kind: v.Kind, At: at(v.At), Facts: v.Facts, From: sourceOf(v.From), Sensitive: reasonsOf(v.Sensitive),
		Ephemeral: reasonsOf(v.Ephemeral), Unknown: reasonsOf(v.Unknown), Users: []userDocument{}, Effects: []effectDocument{}, Planned: []plannedDocument{},
	}
	for _, u := range v.Users {
		doc.Users = append(doc.Users, userDocument{u.Address(), u.How(), at(u.At)})
	}
	for _, e := range v.Effects {
		doc.Effects = append(doc.Effects, effectDocument{e.Address, e.Text, e.Receives, at(e.At)})
	}
	for _, c := range v.Planned {
		doc.Planned = append(doc.Planned, plannedDocument{c.Address, c.Action.String(), c.Reasons})
	}
	if l := v.Lease; l != nil {
		doc.Lease = &leaseDocument{l.Opens, l.Closes, append([]string{}, l.Receivers...), l.FromPlan}
	}
	return jsondoc.Write(w, doc, jsondoc.OneLine)
}
