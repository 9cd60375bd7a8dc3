package diag

import (
	"math/rand/v2"
	"testing"

	"github.com/hashicorp/hcl/v2"
)

// TestPlaces compares Places with a linear search, in any order and with overlapping ranges.
func TestPlaces(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		var p Places
		var all []Range
		for range r.IntN(8) {
			start := r.IntN(40)
			all = append(all, rangeOf("a.tf", start, start+r.IntN(10)))
			p.Add(all[len(all)-1])
		}
		for at := range 60 {
			want := false
			for _, x := range all {
				want = want || x.Start.Byte <= at && at <= x.End.Byte
			}
			if got := p.Has(rangeOf("a.tf", at, at+3)); got != want {
				t.Fatalf("seed %d: %d in %v: %v", seed, at, all, got)
			}
			if p.Has(rangeOf("b.tf", at, at)) {
				t.Fatal("another file has nothing")
			}
		}
	}
}

func rangeOf(file string, start, end int) Range {
	return Range{Filename: file, Start: hcl.Pos{Byte: start}, End: hcl.Pos{Byte: end}}
}

// TestEnough checks that errors about a place of Enough are dropped.
func TestEnough(t *testing.T) {
	var b Bag
	inside, outside := rangeOf("a.tf", 5, 6), rangeOf("a.tf", 20, 21)
	b.Add(Errorf("first", "").At(inside))
	b.Enough(rangeOf("a.tf", 3, 9))
	b.Add(Errorf("follows", "").At(inside), Errorf("other", "").At(outside), Warningf("warned", "").At(inside), Errorf("nowhere", ""))
	var got []string
	for _, d := range b.List() {
		got = append(got, d.Summary)
	}
	if len(got) != 4 || got[0] != "first" || got[1] != "warned" || got[2] != "other" || got[3] != "nowhere" {
		t.Error(got)
	}
	b.Clear()
	if b.Add(Errorf("again", "").At(inside)); b.Len() != 1 {
		t.Error("a bag that is cleared knows nothing of places")
	}
}
