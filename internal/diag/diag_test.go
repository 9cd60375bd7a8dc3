package diag_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/lethe-iac/lethe/internal/diag"
	"pgregory.net/rapid"
)

func at(file string, b int) diag.Range {
	return diag.Range{Filename: file, Start: diag.Pos{Line: 1, Column: b + 1, Byte: b}, End: diag.Pos{Line: 1, Column: b + 2, Byte: b + 1}}
}

func TestBagDropsRepeats(t *testing.T) {
	var b diag.Bag
	d := diag.Errorf("A", "a").At(at("x", 1))
	b.Add(d, d, diag.Errorf("A", "a").At(at("x", 2)), diag.Warningf("A", "a").At(at("x", 1)))
	if b.Len() != 3 || !b.HasErrors() {
		t.Errorf("%v", b.List())
	}
}

// TestBagCountsOtherValues checks that the kept message and the count do not depend on the order of the instances.
func TestBagCountsOtherValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(t, "n")
		order := rapid.Permutation(append(numbers(n), numbers(n)...)).Draw(t, "order")
		var b, other diag.Bag
		for i, k := range order {
			d := diag.Errorf("A", "a").At(at("x", 1))
			d.Values = []diag.Value{{Traversal: "count.index", Statement: fmt.Sprint("is ", k)}}
			if i%2 == 0 {
				b.Add(d)
			} else {
				other.Add(d)
			}
		}
		single := b.Len() + other.Len()
		b.Move(&other)
		list := b.List()
		if len(list) != 1 || single == 0 {
			t.Fatalf("%v", list)
		}
		if got := list[0].Values[0].Statement; got != "is 0" {
			t.Errorf("kept the one that %s", got)
		}
		if list[0].Others < n-1 {
			t.Errorf("%d others of %d", list[0].Others, n)
		}
	})
}

func numbers(n int) []int {
	var out []int
	for i := range n {
		out = append(out, i)
	}
	return out
}

func TestBagIsOrdered(t *testing.T) {
	var b diag.Bag
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() { b.Add(diag.Errorf(fmt.Sprint("E", i%5), "x").At(at(fmt.Sprint("f", i%3), i))) })
	}
	wg.Wait()
	list := b.List()
	if !slices.IsSortedFunc(list, func(x, y diag.Diagnostic) int { return diag.CompareRanges(*x.Subject, *y.Subject) }) || len(list) != 50 {
		t.Errorf("%v", list)
	}
}

func TestCoded(t *testing.T) {
	d := diag.Errorf("Unsupported argument", "").Coded()
	if d.Code != "LE0201" {
		t.Errorf("%q", d.Code)
	}
	d.Code, d.Foreign = "", true
	if c := d.Coded().Code; c != "" {
		t.Errorf("what a provider says has the code %s", c)
	}
}

func TestSuggest(t *testing.T) {
	names := []string{"name", "value", "count", "for_each", "création", "id", "instance_type", "vpc_security_group_ids", "terraform_data.web", "auto-approve", "one", "b"}
	for given, want := range map[string]string{
		"nmae": "name", "nam": "name", "names": "name", "valeu": "value", "cuont": "count", "for_eahc": "for_each", "foreach": "for_each", "for-each": "for_each",
		"creation": "création", "NAME": "name", "ids": "id", "instnce_tpye": "instance_type", "instancetype": "instance_type",
		"vpc_security_groups_ids": "vpc_security_group_ids", "terraform_data.wbe": "terraform_data.web", "terraform_dta.web": "terraform_data.web", "autoapprove": "auto-approve",
		"zzz": "", "": "", "a": "", "ip": "", "nope": "", "data": "", "instance_name": "", "terraform_data.app": "", "terraform_data.w": "", "amount": "", "version": "", "vpc": "",
	} {
		if got := diag.Suggest(given, names); got != want {
			t.Errorf("%q is taken for %q, not %q", given, got, want)
		}
	}
}

// TestRetract checks that Retract removes the diagnostics of Lenient, that the others are still known, and that the
// removed diagnostics can be added again.
func TestRetract(t *testing.T) {
	var b diag.Bag
	say := func(bag *diag.Bag) { bag.Add(diag.Errorf("said in a check", "")) }
	b.Add(diag.Warningf("one", ""))
	b.Lenient(say)
	b.Add(diag.Errorf("two", ""))
	b.Retract()
	b.Add(diag.Errorf("two", ""), diag.Warningf("one", ""))
	if got := titles(&b); !slices.Equal(got, []string{"one", "two"}) || !b.HasErrors() {
		t.Errorf("left are %q", got)
	}
	b.Lenient(say)
	if got := titles(&b); !slices.Equal(got, []string{"one", "two", "said in a check"}) {
		t.Errorf("then there are %q", got)
	}
}

// TestWarningBecomesError checks that a warning is listed once if it is added again as an error.
func TestWarningBecomesError(t *testing.T) {
	var b diag.Bag
	b.Add(diag.Warningf("first", "").At(at("f", 1)), diag.Warningf("second", "").At(at("f", 2)), diag.Warningf("first", ""))
	if got := titles(&b); !slices.Equal(got, []string{"first", "second", "first"}) {
		t.Errorf("%q", got)
	}
	b.Add(diag.Errorf("first", "").At(at("f", 1)), diag.Errorf("other", "").At(at("f", 2)))
	list := b.List()
	if got := titles(&b); !slices.Equal(got, []string{"first", "second", "other", "first"}) || list[0].Severity != diag.Error {
		t.Errorf("%q", got)
	}
}

func titles(b *diag.Bag) []string {
	var out []string
	for _, d := range b.List() {
		out = append(out, d.Summary)
	}
	return out
}

// TestErrorsWithFullStop checks that a sentence has one full stop if the text of an error, as on Windows, has one.
func TestErrorsWithFullStop(t *testing.T) {
	err := fmt.Errorf("the state cannot be read: %w", errors.New("Access is denied."))
	for format, want := range map[string]string{
		"%s.":               "the state cannot be read: Access is denied.",
		"Nothing: %s":       "Nothing: the state cannot be read: Access is denied.",
		"%s. Correct it.":   "the state cannot be read: Access is denied. Correct it.",
		"%s, so nothing...": "the state cannot be read: Access is denied, so nothing...",
	} {
		if got := diag.Errorf("x", format, err).Detail; got != want {
			t.Errorf("%s: %q", format, got)
		}
	}
	if got := diag.Warningf("x", "%s.", errors.New("and so on...")).Detail; got != "and so on...." {
		t.Error(got)
	}
}
