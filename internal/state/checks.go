package state

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// checks reads "check_results". Terraform and OpenTofu write them in no order; here they are sorted.
func (r *reader) checks() {
	r.Array(func() {
		r.Peek()
		pos := r.Pos
		text := r.Scanner.Raw()
		if r.Err != nil {
			return
		}
		var c Check
		var wrong *json.UnmarshalTypeError
		switch err := json.Unmarshal(text, &c); {
		case errors.As(err, &wrong):
			r.problem(pos, badContent, "The %s of a check result cannot be a %s.", wrong.Field, wrong.Value)
		case err != nil:
			r.problem(pos, badContent, "A check result has the %v.", err)
		case c.Kind == "" || c.Addr == "":
			r.problem(pos, badContent, "A check result does not say what it is about.")
		}
		r.snap.Checks = append(r.snap.Checks, c)
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

// checks writes check results.
func (e *writer) checks(list []Check) error {
	if len(list) == 0 {
		list = nil // which is written as null
	}
	if !slices.IsSortedFunc(list, compareChecks) {
		list = slices.Clone(list)
		slices.SortStableFunc(list, compareChecks)
	}
	text, err := json.Marshal(list)
	e.Raw(text)
	return err
}
