package diff

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// checkAlignment fails if pairs does not contain each element of both sequences once, in order.
func checkAlignment(t *rapid.T, b, a []int, pairs []Pair) {
	nb, na := 0, 0
	for _, p := range pairs {
		if p.Before >= 0 {
			if p.Before != nb {
				t.Fatalf("element %d of the first is skipped: %v", nb, pairs)
			}
			nb++
		}
		if p.After >= 0 {
			if p.After != na {
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
		values := func(seq []int) (out []*Value) {
			for _, n := range seq {
				v := &Value{Kind: StringValue, Text: fmt.Sprint(n)}
				if n < objects {
					v.Kind = ObjectValue
				}
				out = append(out, v)
			}
			return out
		}
		pairs := Align(values(b), values(a))
		checkAlignment(t, b, a, pairs)
		if slices.Equal(a, b) {
			for _, p := range pairs {
				if p.After != p.Before {
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
		// Equal elements before and after both sequences extend the result by their number.
		same := []int{100, 101, 102}
		if got := longest(append(slices.Clone(same), b...), append(slices.Clone(same), a...)); len(got) != len(best)+3 {
			t.Fatalf("%v", got)
		}
	})
}

// TestLongListsAreBounded compares two lists of 100,000 elements that have few elements in common.
func TestLongListsAreBounded(t *testing.T) {
	const n = 100_000
	var b, a []*Value
	for i := range n {
		b = append(b, &Value{Kind: StringValue, Text: fmt.Sprint(i)})
		a = append(a, &Value{Kind: StringValue, Text: fmt.Sprint((i*7919 + 13) % (n + n/2))})
	}
	start := time.Now()
	pairs := Align(b, a[:n-1])
	if took := time.Since(start); took > time.Minute {
		t.Errorf("%v", took)
	}
	if len(pairs) < n {
		t.Errorf("%d pairs", len(pairs))
	}
}
