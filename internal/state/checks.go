package state

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// storedCheck is the form of a check in a state file. storedObject is the form of its result for one instance.
type storedCheck struct {
	Kind    string         `json:"object_kind"`
	Addr    string         `json:"config_addr"`
	Status  Status         `json:"status"`
	Objects []storedObject `json:"objects"` // nil is written as null: the objects are not known
}

type storedObject struct {
	Addr     string   `json:"object_addr"`
	Status   Status   `json:"status"`
	Failures []string `json:"failure_messages,omitempty"`
}

// checks reads "check_results". Terraform and OpenTofu write its elements in no particular order. The snapshot has them
// sorted.
func (r *reader) checks() {
	r.Array(func() {
		r.Peek()
		pos := r.Pos
		text := r.Scanner.Raw()
		if r.Err != nil {
			return
		}
		var c storedCheck
		var wrong *json.UnmarshalTypeError
		switch err := json.Unmarshal(text, &c); {
		case errors.As(err, &wrong):
			r.problem(pos, badContent, "The %s of a check result cannot be a %s.", wrong.Field, wrong.Value)
		case err != nil:
			r.problem(pos, badContent, "A check result has the %v.", err)
		case c.Kind == "" || c.Addr == "":
			r.problem(pos, badContent, "A check result has no object.")
		}
		r.snap.Checks = append(r.snap.Checks, Check{c.Kind, c.Addr, c.Status, each(c.Objects, func(o storedObject) CheckedObject { return CheckedObject(o) })})
	})
	sortChecks(r.snap.Checks)
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

// checks writes the results of conditions as "check_results", sorted.
func (e *writer) checks(list []Check) error {
	if !slices.IsSortedFunc(list, compareChecks) {
		list = slices.Clone(list)
		slices.SortStableFunc(list, compareChecks)
	}
	var stored []storedCheck // nil is written as null
	for _, c := range list {
		stored = append(stored, storedCheck{c.Kind, c.Addr, c.Status, each(c.Objects, func(o CheckedObject) storedObject { return storedObject(o) })})
	}
	text, err := json.Marshal(stored)
	e.Raw(text)
	return err
}

// each returns the results of f for all elements of list. If list is nil, it returns nil.
func each[A, B any](list []A, f func(A) B) []B {
	if list == nil {
		return nil
	}
	out := make([]B, len(list))
	for i, a := range list {
		out[i] = f(a)
	}
	return out
}
