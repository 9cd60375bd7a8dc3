package state

import (
	"cmp"
	"slices"
	"strings"
)

// checks reads "check_results". Terraform and OpenTofu write them in no order; here they are sorted.
func (r *reader) checks() {
	r.Array(func() {
		r.Peek()
		pos := r.Pos
		var c Check
		r.Object(func(key []byte) {
			switch string(key) {
			case "object_kind":
				c.Kind = r.string(r.Text())
			case "config_addr":
				c.Addr = validText(r.Text())
			case "status":
				c.Status = r.checkStatus()
			case "objects":
				c.Objects = r.checkObjects()
			default:
				r.Skip()
			}
		})
		if r.Err == nil && (c.Kind == "" || c.Addr == "") {
			r.problem(pos, badContent, "A check result does not say what it is about.")
		}
		r.snap.Checks = append(r.snap.Checks, c)
	})
	sortChecks(r.snap.Checks)
}

func (r *reader) checkObjects() []CheckedObject {
	if r.Null() {
		return nil
	}
	out := []CheckedObject{}
	r.Array(func() {
		var o CheckedObject
		r.Object(func(key []byte) {
			switch string(key) {
			case "object_addr":
				o.Addr = validText(r.Text())
			case "status":
				o.Status = r.checkStatus()
			case "failure_messages":
				r.Array(func() { o.Failures = append(o.Failures, validText(r.Text())) })
			default:
				r.Skip()
			}
		})
		out = append(out, o)
	})
	return out
}

func (r *reader) checkStatus() (st Status) {
	r.Peek()
	pos := r.Pos
	text := r.Text()
	if err := st.UnmarshalText(text); err != nil && r.Err == nil {
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
func (e *writer) checks(list []Check) {
	if len(list) == 0 {
		e.Word("null")
		return
	}
	if !slices.IsSortedFunc(list, compareChecks) {
		list = slices.Clone(list)
		slices.SortStableFunc(list, compareChecks)
	}
	e.Open('[')
	for _, c := range list {
		e.Open('{')
		e.KeyText("object_kind", c.Kind)
		e.KeyText("config_addr", c.Addr)
		e.KeyText("status", c.Status.String())
		e.Key("objects")
		e.checkObjects(c.Objects)
		e.Close('}')
	}
	e.Close(']')
}

func (e *writer) checkObjects(list []CheckedObject) {
	if list == nil {
		e.Word("null")
		return
	}
	e.Open('[')
	for _, o := range list {
		e.Open('{')
		e.KeyText("object_addr", o.Addr)
		e.KeyText("status", o.Status.String())
		if len(o.Failures) > 0 {
			e.Key("failure_messages")
			e.Open('[')
			for _, m := range o.Failures {
				e.Text(m)
			}
			e.Close(']')
		}
		e.Close('}')
	}
	e.Close(']')
}
