package planning

import (
	"context"

	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/walk"
)

// nodeWork does the work of one node of the graph, and returns false if the work failed. It may split the work into
// concurrent jobs with f.Jobs.
type nodeWork func(ctx context.Context, f *walk.Fan) bool

// nodes is the graph of a plan, with the work of each node. One goroutine builds the graph. While the graph runs, it is
// only read.
type nodes struct {
	graph  walk.Graph
	visits []nodeWork
	names  []string                     // addresses of the nodes, for messages; empty for gates (nodes without work) and closers (nodes that close leases, end providers or count the users of leases)
	decide []walk.Node                  // by declaration: the node that decides about (plans) the declaration
	users  map[program.Decl][]walk.Node // by provider configuration: the nodes that use it, except the nodes that plan the resources of this configuration
}

func newNodes(decls int) *nodes {
	return &nodes{decide: make([]walk.Node, decls), users: map[program.Decl][]walk.Node{}}
}

// add adds a node with the work v, or a gate (a node without work) if v is nil. name is the address of the declaration
// or resource of the node, or "" for a gate.
func (n *nodes) add(name string, v nodeWork) walk.Node {
	n.visits, n.names = append(n.visits, v), append(n.names, name)
	if v == nil {
		return n.graph.Gate(walk.Options{})
	}
	return n.graph.Add(walk.Options{})
}

// closer adds a node that calls end, which closes an ephemeral resource or ends a provider. The node runs even if the
// nodes for which it waits fail.
func (n *nodes) closer(end func()) walk.Node {
	n.visits, n.names = append(n.visits, func(context.Context, *walk.Fan) bool {
		end()
		return true
	}), append(n.names, "")
	return n.graph.Add(walk.Options{Closer: true})
}

// use records that a node uses a provider configuration, so that the processes of this configuration end after the
// node.
func (n *nodes) use(provider program.Decl, user walk.Node) {
	n.users[provider] = append(n.users[provider], user)
}

func (n *nodes) work(ctx context.Context, of walk.Node, f *walk.Fan) bool {
	return n.visits[of](ctx, f)
}

// name returns the address of the declaration or resource of a node, or "" for gates and closers.
func (n *nodes) name(of walk.Node) string { return n.names[of] }

// failed returns the addresses of the nodes that failed.
func (n *nodes) failed(result walk.Result) (names []string) {
	for i, name := range n.names {
		if result.Of(walk.Node(i)) == walk.Failed {
			names = append(names, name)
		}
	}
	return names
}
