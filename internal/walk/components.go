package walk

// Components returns the strongly connected components of a graph with n nodes. from(v) are the edges of the node v,
// and to(e) is the target of the edge e. of[v] is the number of v's component, starting from 1. nodes has the nodes,
// grouped by component. A component comes after all components to which its edges lead.
//
// It is Tarjan's algorithm without recursion, because chains may be very long.
func Components[E any](n int, from func(v int32) []E, to func(E) int32) (of, nodes []int32) {
	t := tarjan{of: make([]int32, n), seen: make([]int32, n), low: make([]int32, n), next: make([]int32, n), nodes: make([]int32, 0, n)}
	for root := range int32(n) {
		if t.seen[root] != 0 {
			continue
		}
		for t.enter(root); len(t.path) > 0; {
			v := t.path[len(t.path)-1]
			edges := from(v)
			i, low := int(t.next[v]), t.low[v]
			child := int32(-1)
			for ; i < len(edges) && child < 0; i++ {
				switch w := to(edges[i]); {
				case t.seen[w] == 0:
					child = w
				case t.of[w] == 0:
					low = min(low, t.low[w])
				}
			}
			t.next[v], t.low[v] = int32(i), low
			if child >= 0 {
				t.enter(child)
			} else {
				t.leave(v)
			}
		}
	}
	return t.of, t.nodes
}

// tarjan is the state of the search of Components.
type tarjan struct {
	of    []int32 // by node: number of its component; 0: not known yet
	seen  []int32 // by node: its place in the order of visits, from 1; 0: not visited
	low   []int32 // by node: lowest number in seen of a node that is known to be in the same component
	next  []int32 // by node: index of the next edge to follow
	path  []int32 // the nodes whose visit has begun and not ended, each an edge away from the previous; the last is visited now
	open  []int32 // the nodes whose visit has begun and whose component is not known yet, in the order of their visits; path is a part of it
	nodes []int32 // the nodes with a known component, grouped by component

	clock, found int32 // number of visited nodes; number of known components
}

func (t *tarjan) enter(v int32) {
	t.clock++
	t.seen[v], t.low[v] = t.clock, t.clock
	t.open, t.path = append(t.open, v), append(t.path, v)
}

// leave ends the visit of v. If no edge leads from v, or from a node visited after v, to an open node visited before v,
// then v and the nodes after v in t.open are a component. Otherwise v belongs to the component of an earlier node.
func (t *tarjan) leave(v int32) {
	t.path = t.path[:len(t.path)-1]
	if t.low[v] < t.seen[v] {
		parent := t.path[len(t.path)-1] // exists, since a node was visited before v
		t.low[parent] = min(t.low[parent], t.low[v])
		return
	}
	t.found++
	first := len(t.open) - 1
	for t.open[first] != v {
		first--
	}
	for _, w := range t.open[first:] {
		t.of[w] = t.found
	}
	t.nodes = append(t.nodes, t.open[first:]...)
	t.open = t.open[:first]
}
