package walk

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestComponents checks that two nodes are in the same component if and only if each can reach the other, by plain
// search.
func TestComponents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 9).Draw(t, "nodes")
		edges := make([][]int32, n)
		reach := make([][]bool, n)
		for v := range n {
			reach[v] = make([]bool, n)
			reach[v][v] = true
			edges[v] = rapid.SliceOfN(rapid.Int32Range(0, int32(n-1)), 0, 3).Draw(t, "edges")
			for _, w := range edges[v] {
				reach[v][w] = true
			}
		}
		for k := range n {
			for i := range n {
				for j := range n {
					reach[i][j] = reach[i][j] || reach[i][k] && reach[k][j]
				}
			}
		}
		of, nodes := Components(n, func(v int32) []int32 { return edges[v] }, func(w int32) int32 { return w })
		for i := range n {
			for j := range n {
				if (of[i] == of[j]) != (reach[i][j] && reach[j][i]) {
					t.Fatalf("%d and %d: components %v of %v", i, j, of, edges)
				}
				if reach[i][j] && of[i] < of[j] {
					t.Fatalf("%d leads to %d and comes first: %v of %v", i, j, of, edges)
				}
			}
		}
		if all := slices.Sorted(slices.Values(nodes)); len(all) != n || !slices.IsSortedFunc(nodes, func(a, b int32) int { return int(of[a] - of[b]) }) {
			t.Fatalf("nodes %v by components %v", nodes, of)
		}
	})
}

// TestComponentsOfALongChain: the depth of a chain is limited only by memory.
func TestComponentsOfALongChain(t *testing.T) {
	const n = 1_000_000
	of, nodes := Components(n, func(v int32) []int32 { return []int32{v + 1}[:min(1, n-1-v)] }, func(w int32) int32 { return w })
	if of[0] != n || of[n-1] != 1 || nodes[0] != n-1 {
		t.Errorf("components %d and %d, first node %d", of[0], of[n-1], nodes[0])
	}
}
