package view

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
)

// TestCompareInTree sorts random module instances. The descendants of a module instance must follow it without a gap.
// Otherwise moduleTree would print the instance twice.
func TestCompareInTree(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	names, keys := []string{"a", "a-b", "a_b", "aa"}, []addr.Key{addr.NoKey, addr.IntKey(2), addr.IntKey(10), addr.StringKey("x.y"), addr.StringKey("")}
	var random func(depth int) addr.ModuleInstance
	random = func(depth int) addr.ModuleInstance {
		if depth == 0 {
			return addr.ModuleInstance{}
		}
		return random(depth-1).Child(names[r.IntN(len(names))], keys[r.IntN(len(keys))])
	}
	var list []addr.ModuleInstance
	for range 200 {
		list = append(list, random(r.IntN(4)))
	}
	slices.SortFunc(list, compareInTree)
	for i, m := range list {
		left := false
		for _, below := range list[i:] {
			if in := below.Under(m); in && left {
				t.Fatalf("%s does not follow what else is in %s", below, m)
			} else if !in {
				left = true
			}
		}
	}
}
