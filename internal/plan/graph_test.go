package plan

import "testing"

// graphOf returns a graph of n steps. For each pair, the second step needs the first.
func graphOf(n int, pairs ...[2]id) *graph {
	g := &graph{}
	for i := range n {
		g.add(node{kind: Up, index: int32(i)})
	}
	for _, p := range pairs {
		g.needs(p[1], p[0])
	}
	return g
}

// TestSoftEdgesOnACycleGiveWay checks that a soft edge (an order that may be dropped) is dropped if it closes a cycle,
// and that another soft edge stays.
func TestSoftEdgesOnACycleGiveWay(t *testing.T) {
	g := graphOf(3, [2]id{1, 2})
	g.soft = append(g.soft, g.after(1, 2, true), g.after(3, 2, true))
	if g.acyclic() {
		t.Fatal("the cycle is not found")
	}
	if !g.harden() || len(g.soft) != 1 || g.soft[0].to.node() != 2 {
		t.Errorf("the soft edges that stay are %v", g.soft)
	}
	if len(g.edges) != 1 {
		t.Errorf("the hard edges are %v", g.edges)
	}
}

// TestHardEdgesDoNotGiveWay: harden cannot resolve a cycle of edges that are not soft.
func TestHardEdgesDoNotGiveWay(t *testing.T) {
	g := graphOf(2, [2]id{1, 2}, [2]id{2, 1})
	if g.acyclic() || g.harden() {
		t.Error("a cycle of hard edges was resolved")
	}
}

// TestAnEdgeOfAMissingStepIsNoEdge: needs ignores an edge to a step that does not exist.
func TestAnEdgeOfAMissingStepIsNoEdge(t *testing.T) {
	g := graphOf(1)
	g.needs(1, 0)
	g.waits(0, 1)
	if len(g.edges) != 0 {
		t.Errorf("the edges are %v", g.edges)
	}
}

// TestAGateBetweenTwoStepsDissolves: a gate (a node without work) with one edge on each side is not emitted. Its two
// neighbours get a direct edge, which is of the kind waits only if one of the two edges was.
func TestAGateBetweenTwoStepsDissolves(t *testing.T) {
	g := graphOf(2)
	gate := g.add(node{kind: Gate})
	g.needs(gate, 1)
	g.waits(2, gate)
	if !g.acyclic() {
		t.Fatal("a cycle")
	}
	var s Steps
	g.emit(&s)
	if len(s.List) != 2 || len(s.deps) != 1 || s.deps[0]&1 != 0 {
		t.Errorf("the steps are %v, their edges %v", s.List, s.deps)
	}
}
