package view

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diff"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/state"
)

// StateText writes a whole state for people.
func StateText(w io.Writer, s *state.Snapshot, sch provider.Lookup, o Options) {
	b := bufio.NewWriter(w)
	defer b.Flush()
	x := newObjects(sch)
	for i, stored := range storedObjects(s) {
		if i > 0 {
			b.WriteString("\n")
		}
		x.text(b, stored.addr, stored.entry, o)
	}
	if len(s.Outputs) == 0 {
		return
	}
	b.WriteString("\n\nOutputs:\n\n")
	d := &diff.Differ{ShowSensitive: o.ShowSensitive, Stored: true}
	r := renderer{Writer: b, o: o, plain: true}
	for _, name := range slices.Sorted(maps.Keys(s.Outputs)) {
		out := s.Outputs[name]
		f := diff.TypeForm(out.Value.Raw.Type(), true) // the form of the type, in which maps and objects are shown differently
		v := diff.NewValue(out.Value.Raw, f, nil)
		if out.Sensitive {
			v = secretly(v)
		}
		r.attribute(diff.AttributeName(name), 0, d.Value(f, v, v, nil, diff.AllPaths), renderOptions{all: true}, "")
	}
}

// ObjectText writes one object of a state.
func ObjectText(w io.Writer, obj addr.Object, e *state.Entry, sch provider.Lookup, o Options) error {
	b := bufio.NewWriter(w)
	newObjects(sch).text(b, obj, e, o)
	return b.Flush()
}

// text writes an object in the form of a block of the configuration, with the values in the state.
func (x *objects) text(b *bufio.Writer, obj addr.Object, e *state.Entry, o Options) {
	f := x.Form(e.Provider.Provider, obj.Instance)
	d := &diff.Differ{ShowSensitive: o.ShowSensitive, Stored: true}
	v := d.Object(f, x.Shown(e, obj.Instance))
	r, note := renderer{Writer: b, o: o, plain: true}, ""
	switch {
	case obj.IsDeposed():
		note = " (deposed object " + EscapeLine(obj.Deposed) + ")"
	case e.Tainted:
		note = " (tainted)"
	}
	if f == diff.NoSchema {
		note += " (without its schema, all values count as sensitive)"
	}
	r.WriteString(o.paint("# "+EscapeLine(obj.Instance.String())+":"+note, bold) + "\n")
	fmt.Fprintf(r, "%s %s %s {\n", obj.Mode.Block(), quote(obj.Type), quote(obj.Name))
	if v != nil {
		r.block(d.Block(f, v, v, nil, diff.AllPaths), renderOptions{all: true})
	}
	r.WriteString("}\n")
}
