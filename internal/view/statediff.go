package view

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/lethe-iac/lethe/internal/diff"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/review"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/view/jsondoc"
)

// StateDifference has the differences of two states.
type StateDifference struct {
	From, To *state.Snapshot
	Objects  []state.Difference // sorted by module; in a module, data sources first
	Outputs  []string           // the names of the outputs that differ
}

// NewStateDifference compares two states, which must not be nil.
func NewStateDifference(from, to *state.Snapshot) *StateDifference {
	d := &StateDifference{From: from, To: to, Objects: state.Differences(from, to), Outputs: state.OutputDifferences(from, to)}
	slices.SortStableFunc(d.Objects, func(a, b state.Difference) int {
		if c := a.Object.Module.Compare(b.Object.Module); c != 0 {
			return c
		}
		return review.CompareModes(a.Object.Mode, b.Object.Mode)
	})
	return d
}

// Empty reports whether the states do not differ.
func (d *StateDifference) Empty() bool { return len(d.Objects)+len(d.Outputs) == 0 }

// action returns the action on an object or an output between two states, and the word for the action. before and after
// are true if the object or output exists in the earlier and in the later state.
func action(before, after bool) (plan.Action, string) {
	switch {
	case !before:
		return plan.Create, "added"
	case !after:
		return plan.Delete, "removed"
	}
	return plan.Update, "changed"
}

// Counts returns the numbers of added, changed and removed objects.
func (d *StateDifference) Counts() (added, changed, removed int) {
	for _, o := range d.Objects {
		switch a, _ := action(o.Before != nil, o.After != nil); a {
		case plan.Create:
			added++
		case plan.Delete:
			removed++
		default:
			changed++
		}
	}
	return added, changed, removed
}

// Text writes for people each object and output that differs, and a line with the counts. It returns errors of w.
func (d *StateDifference) Text(w io.Writer, sch provider.Lookup, o Options) error {
	b := bufio.NewWriter(w)
	x := newObjects(sch)
	for i, diff := range d.Objects {
		if i > 0 {
			b.WriteString("\n")
		}
		x.difference(b, diff, o)
	}
	t := &planText{w: b, o: o, p: &plan.Plan{Outputs: d.outputChanges()}}
	t.outputs(t.p.Outputs, false)
	if !d.Empty() {
		b.WriteString("\n")
	}
	added, changed, removed := d.Counts()
	fmt.Fprintf(b, "%s %d added, %d changed, %d removed", o.paint(fmt.Sprintf("Serial %d to %d:", d.From.Serial, d.To.Serial), bold), added, changed, removed)
	if n := len(d.Outputs); n > 0 {
		fmt.Fprintf(b, "; outputs that differ: %d", n)
	}
	b.WriteString(".\n")
	return b.Flush()
}

// difference writes one object in the form of a planned change.
func (x *objects) difference(b *bufio.Writer, d state.Difference, o Options) {
	e := d.After
	if e == nil {
		e = d.Before
	}
	a, word := action(d.Before != nil, d.After != nil)
	n := x.Diff(&plan.Change{
		Object: d.Object, Action: a, Provider: e.Provider,
		Before: x.Stored(d.Before, d.Object.Instance), After: x.Stored(d.After, d.Object.Instance),
	}, diff.AllPaths, o.differ())
	r := renderer{Writer: b, o: o}
	r.WriteString(o.paint("  # "+EscapeLine(d.Object.String()), bold) + " was " + word + "\n")
	if a == plan.Update {
		switch {
		case d.Before.Tainted != d.After.Tainted && d.After.Tainted:
			r.WriteString("  # (it became tainted)\n")
		case d.Before.Tainted != d.After.Tainted:
			r.WriteString("  # (it is no longer tainted)\n")
		case n.Op == diff.Same:
			r.WriteString("  # (its attributes are equal; its private data or other fields differ)\n")
		}
	}
	fmt.Fprintf(r, "%s %s %s %s {\n", o.actionSymbol(a), d.Object.Mode.Block(), quote(d.Object.Type), quote(d.Object.Name))
	r.block(n, renderOptions{suffix: true})
	r.WriteString("    }\n")
}

// outputChanges returns the outputs that differ, as the output changes of a plan.
func (d *StateDifference) outputChanges() []*plan.OutputChange {
	var out []*plan.OutputChange
	for _, name := range d.Outputs {
		b, before := d.From.Outputs[name]
		a, after := d.To.Outputs[name]
		act, _ := action(before, after)
		out = append(out, &plan.OutputChange{Name: name, Action: act, Before: b.Value, After: a.Value, Sensitive: before && b.Sensitive || after && a.Sensitive})
	}
	return out
}

const formatStateDiff = "1.0"

// stateDiffDocument is the document of `state diff -json`.
type stateDiffDocument struct {
	Format  string                                      `json:"format_version"`
	From    stateDiffSide                               `json:"from"`
	To      stateDiffSide                               `json:"to"`
	Objects iter.Seq[objectDiffDocument]                `json:"resources"`
	Outputs iter.Seq2[string, outputDifferenceDocument] `json:"outputs"`
}

type stateDiffSide struct {
	Serial  jsondoc.Serial `json:"serial"`
	Lineage string         `json:"lineage"`
}

// objectDiffDocument is an object in both states, each in the form of a state document. Before is nil for an added
// object, and After for a removed object.
type objectDiffDocument struct {
	Address string          `json:"address"`
	Deposed string          `json:"deposed_key,omitempty"`
	Action  string          `json:"action"`
	Before  *storedDocument `json:"before,omitempty"`
	After   *storedDocument `json:"after,omitempty"`
}

type outputDifferenceDocument struct {
	Action string          `json:"action"`
	Before *outputDocument `json:"before,omitempty"`
	After  *outputDocument `json:"after,omitempty"`
}

// JSON writes the differences as a document. Like a state document, it contains sensitive values, and marks them.
func (d *StateDifference) JSON(w io.Writer, sch provider.Lookup) error {
	x := newObjects(sch)
	side := func(s *state.Snapshot) stateDiffSide { return stateDiffSide{jsondoc.Serial(s.Serial), s.Lineage} }
	object := func(diff state.Difference) objectDiffDocument {
		_, word := action(diff.Before != nil, diff.After != nil)
		document := func(e *state.Entry) *storedDocument {
			if e == nil {
				return nil
			}
			doc := x.storedDocument(diff.Object, e, nil)
			return &doc
		}
		return objectDiffDocument{diff.Object.Instance.String(), diff.Object.Deposed, word, document(diff.Before), document(diff.After)}
	}
	output := func(name string) (string, outputDifferenceDocument) {
		document := func(s *state.Snapshot) *outputDocument {
			o, ok := s.Outputs[name]
			if !ok {
				return nil
			}
			doc := outputDocumentOf(o)
			return &doc
		}
		before, after := document(d.From), document(d.To)
		_, word := action(before != nil, after != nil)
		return name, outputDifferenceDocument{word, before, after}
	}
	return jsondoc.Write(w, stateDiffDocument{formatStateDiff, side(d.From), side(d.To), jsondoc.Each(d.Objects, object), jsondoc.EachNamed(d.Outputs, output)}, jsondoc.OneLine)
}
