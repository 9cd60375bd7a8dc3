package view

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/state"
)

// StateText writes a whole state for people.
func StateText(w io.Writer, s *state.Snapshot, sch provider.Lookup, o Options) {
	x := newObjects(sch)
	for i, stored := range storedObjects(s) {
		if i > 0 {
			io.WriteString(w, "\n")
		}
		io.WriteString(w, x.text(stored.addr, stored.entry, o))
	}
	if len(s.Outputs) == 0 {
		return
	}
	io.WriteString(w, "\n\nOutputs:\n\n")
	d := &differ{secrets: o.ShowSensitive, stored: true}
	r := renderer{o: o, plain: true}
	for _, name := range slices.Sorted(maps.Keys(s.Outputs)) {
		out := s.Outputs[name]
		f := typeForm(out.Value.Raw.Type(), true) // maps are shown otherwise than objects
		v := document(out.Value.Raw, f, nil)
		if out.Sensitive {
			v = secretly(v)
		}
		r.attribute(attrName(name), 0, d.value(f, v, v, nil, all), renderOptions{all: true}, "")
	}
	io.WriteString(w, r.String())
}

// ObjectText writes one object of a state.
func ObjectText(w io.Writer, obj addr.Object, e *state.Entry, sch provider.Lookup, o Options) error {
	_, err := io.WriteString(w, newObjects(sch).text(obj, e, o))
	return err
}

// text is an object as it is stored.
func (x *objects) text(obj addr.Object, e *state.Entry, o Options) string {
	f := x.schemaForm(e.Provider.Provider, obj.Instance)
	v := x.document(f, x.stored(e, obj.Instance))
	d := &differ{secrets: o.ShowSensitive, stored: true}
	r := renderer{o: o, plain: true}
	note := ""
	switch {
	case obj.IsDeposed():
		note = " (deposed object " + EscapeLine(obj.Deposed) + ")"
	case e.Tainted:
		note = " (tainted)"
	}
	r.WriteString(o.paint("# "+EscapeLine(obj.Instance.String())+":"+note, bold) + "\n")
	fmt.Fprintf(&r, "%s %s %s {\n", obj.Mode.Block(), quote(obj.Type), quote(obj.Name))
	if v != nil {
		r.block(d.block(f, v, v, nil, all), renderOptions{all: true})
	}
	r.WriteString("}\n")
	return r.String()
}
