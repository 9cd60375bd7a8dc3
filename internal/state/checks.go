package state

import (
	"cmp"
	"slices"
	"strings"
)

// checks reads "check_results". The peers write them in no order; here they are sorted.
func (r *reader) checks() {
	r.array(func() {
		r.peek()
		pos := r.pos
		var c Check
		r.object(func(key []byte) {
			switch string(key) {
			case "object_kind":
				c.Kind = r.string(r.text())
			case "config_addr":
				c.Addr = validText(r.text())
			case "status":
				c.Status = r.checkStatus()
			case "objects":
				c.Objects = r.checkObjects()
			default:
				r.skip()
			}
		})
		if r.err == nil && (c.Kind == "" || c.Addr == "") {
			r.problem(pos, badContent, "A check result does not say what it is about.")
		}
		r.snap.Checks = append(r.snap.Checks, c)
	})
	sortChecks(r.snap.Checks)
}

func (r *reader) checkObjects() []CheckedObject {
	if r.null() {
		return nil
	}
	out := []CheckedObject{}
	r.array(func() {
		var o CheckedObject
		r.object(func(key []byte) {
			switch string(key) {
			case "object_addr":
				o.Addr = validText(r.text())
			case "status":
				o.Status = r.checkStatus()
			case "failure_messages":
				r.array(func() { o.Failures = append(o.Failures, validText(r.text())) })
			default:
				r.skip()
			}
		})
		out = append(out, o)
	})
	return out
}

func (r *reader) checkStatus() (st Status) {
	r.peek()
	pos := r.pos
	text := r.text()
	if err := st.UnmarshalText(text); err != nil && r.err == nil {
		r.problem(pos, badContent, "A check result has the unknown status %q.", text)
	}
	return st
}

func sortChecks(list []Check) {
	slices.SortStableFunc(list, compareChecks)
	for _, c := range list {
		slices.SortStableFunc(c.Objects, func(a, b CheckedObject) int { return strings.Compare(a.Addr, b.Addr) })
	}
}

func compareChecks(a, b Check) int {
	return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Addr, b.Addr))
}

// checks writes check results.
func (e *encoder) checks(list []Check) {
	if len(list) == 0 {
		e.word("null")
		return
	}
	if !slices.IsSortedFunc(list, compareChecks) {
		list = slices.Clone(list)
		slices.SortStableFunc(list, compareChecks)
	}
	e.open('[')
	for _, c := range list {
		e.item()
		e.open('{')
		e.keyText("object_kind", c.Kind)
		e.keyText("config_addr", c.Addr)
		e.keyText("status", c.Status.String())
		e.key("objects")
		e.checkObjects(c.Objects)
		e.close('}')
		e.flush(false)
	}
	e.close(']')
}

func (e *encoder) checkObjects(list []CheckedObject) {
	if list == nil {
		e.word("null")
		return
	}
	e.open('[')
	for _, o := range list {
		e.item()
		e.open('{')
		e.keyText("object_addr", o.Addr)
		e.keyText("status", o.Status.String())
		if len(o.Failures) > 0 {
			e.key("failure_messages")
			e.open('[')
			for _, m := range o.Failures {
				e.item()
				e.text(m)
			}
			e.close(']')
		}
		e.close('}')
	}
	e.close(']')
}
