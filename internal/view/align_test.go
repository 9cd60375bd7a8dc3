package view

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// checkAlignment reports a matching that does not go through both sequences in order, or that
// calls different things the same.
func checkAlignment(t *rapid.T, b, a []int, pairs []pair) {
	nb, na := 0, 0
	for _, p := range pairs {
		if p.b >= 0 {
			if p.b != nb {
				t.Fatalf("element %d of the first is skipped: %v", nb, pairs)
			}
			nb++
		}
		if p.a >= 0 {
			if p.a != na {
				t.Fatalf("element %d of the second is skipped: %v", na, pairs)
			}
			na++
		}
	}
	if nb != len(b) || na != len(a) {
		t.Fatalf("%d of %d and %d of %d: %v", nb, len(b), na, len(a), pairs)
	}
}

func TestAlign(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.SliceOfN(rapid.IntRange(0, 6), 0, 30)
		b, a := gen.Draw(t, "b"), gen.Draw(t, "a")
		objects := rapid.IntRange(0, 6).Draw(t, "objects")
		values := func(seq []int) (out []*docValue) {
			for _, n := range seq {
				v := &docValue{kind: vString, text: fmt.Sprint(n)}
				if n < objects {
					v.kind = vObject
				}
				out = append(out, v)
			}
			return out
		}
		pairs := align(values(b), values(a))
		checkAlignment(t, b, a, pairs)
		if slices.Equal(a, b) {
			for _, p := range pairs {
				if p.a != p.b {
					t.Fatalf("equal sequences differ: %v", pairs)
				}
			}
		}
	})
}

func TestSubsequence(t *testing.T) {
	within := func(sub, of []int) bool {
		for _, x := range of {
			if len(sub) > 0 && sub[0] == x {
				sub = sub[1:]
			}
		}
		return len(sub) == 0
	}
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.SliceOfN(rapid.IntRange(0, 9), 0, 40)
		b, a := gen.Draw(t, "b"), gen.Draw(t, "a")
		best := longest(b, a)
		if !within(best, b) || !within(best, a) {
			t.Fatalf("%v is not in both", best)
		}
		if p := patience(b, a); !within(p, b) || !within(p, a) || len(p) > len(best) {
			t.Fatalf("%v is not in both, or longer than the longest %v", p, best)
		}
		// Taking off equal ends changes nothing about the length.
		same := []int{100, 101, 102}
		if got := longest(append(slices.Clone(same), b...), append(slices.Clone(same), a...)); len(got) != len(best)+3 {
			t.Fatalf("%v", got)
		}
	})
}

// TestLongListsAreBounded: two lists of 100,000 elements that have little in common.
func TestLongListsAreBounded(t *testing.T) {
	const n = 100_000
	var b, a []*docValue
	for i := range n {
		b = append(b, &docValue{kind: vString, text: fmt.Sprint(i)})
		a = append(a, &docValue{kind: vString, text: fmt.Sprint((i*7919 + 13) % (n + n/2))})
	}
	start := time.Now()
	pairs := align(b, a[:n-1])
	if took := time.Since(start); took > time.Minute {
		t.Errorf("%v", took)
	}
	if len(pairs) < n {
		t.Errorf("%d pairs", len(pairs))
	}
}
