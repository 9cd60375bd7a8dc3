package walk

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// named is a graph whose nodes have names: "X" is a node, "P~" a lazy node (it runs only for a node that needs it),
// "-P!" a closer (it runs also after failures), "(g)" a gate (a node without work).
type named struct {
	Graph
	ids   map[string]Node // the nodes, by name
	names []string        // the names of the nodes, by node
}

// Label returns the name of a node.
func (g *named) Label(n Node) string { return g.names[n] }

func (g *named) node(word string) Node {
	name := strings.TrimRight(word, "~!")
	if n, ok := g.ids[name]; ok {
		return n
	}
	if g.ids == nil {
		g.ids = map[string]Node{}
	}
	o := Options{Lazy: strings.HasSuffix(word, "~"), Closer: strings.HasSuffix(word, "!")}
	g.names = append(g.names, name)
	if strings.HasPrefix(name, "(") {
		g.ids[name] = g.Gate(o)
	} else {
		g.ids[name] = g.Add(o)
	}
	return g.ids[name]
}

// parse returns the graph for lines such as "X: S P; Q": X needs S and P, and waits for Q.
func parse(text string) *named {
	g := &named{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		head, rest, _ := strings.Cut(line, ":")
		n := g.node(head)
		needs, waits, _ := strings.Cut(rest, ";")
		for _, w := range strings.Fields(needs) {
			g.Needs(n, g.node(w))
		}
		for _, w := range strings.Fields(waits) {
			g.Waits(n, g.node(w))
		}
	}
	return g
}

// trace runs the graph with one worker and returns the names of the visited nodes in order. The visit of each node in
// the argument fail returns an error.
func trace(g *named, fail ...string) string {
	var log []string
	g.Run(context.Background(), RunOptions{Workers: 1, Run: func(_ context.Context, n Node, _ *Fan) bool {
		name := g.Label(n)
		log = append(log, name)
		for _, f := range fail {
			if f == name {
				return false
			}
		}
		return true
	}})
	return strings.Join(log, " ")
}

// lease has the graph of a lease: an ephemeral E, opened through provider V, configures provider P, which X uses. X
// also needs the slow S. Y comes after X.
const lease = `
	+S
	+V~
	+E~: +V
	+P~: +E
	+X: +S +P
	+Y: +X
	-P!:; +P +X
	-E!:; +E +P -P
	-V!:; +V +E -E
`

func TestOrder(t *testing.T) {
	for _, c := range []struct{ name, graph, fail, want string }{
		{"chain", "a\nb: a\nc: b", "", "a b c"},
		{"longest chain first", "a\nb\nc\nb2: b\nb3: b2\nc2: c", "", "b c b2 a b3 c2"},
		{"as added", "a\nb\nc", "", "a b c"},
		{"failure skips what needs it", "a\nb: a\nc: b\nd:; a\ne", "a", "a d e"},
		{"gate succeeds if all did", "a\nb\n(g): a b\nc: (g)\nd:; (g)", "b", "a b d"},
		{"gate waits for all", "a\nb: a\nc: b\n(g): a c\nx:; (g)", "a", "a x"},
		{"gates weigh nothing", "(g)\n(h): (g)\n(i): (h)\nz: (i)\na\nb: a", "", "a z b"},
		{"closer first", "a\nb: a\nc: b\n-p!:; a", "", "a -p b c"},
		{"closer runs whatever failed", "a\n-p!: a", "a", "a -p"},
		{"closer of what never started", "a\np: a\n-p!:; p", "a", "a"},
		{"closer through a gate", "a\nb: a\n(g): a b\n-p!:; (g)", "a", "a -p"},
		{"late, unwanted", "p~\na\n-p!:; p", "", "a"},
		{"late, merely waited for", "p~\na:; p", "", "a"},
		{"late", "p~\ns\nx: p s", "", "s p x"},
		{"late, in turn", "p~\ns\ns2: s\nq~: s2\nx: p q", "", "s s2 p q x"},
		{"late behind what it waits for", "p~\nq~\ns\nx: p s\ny: x q; p", "", "s p x q y"},
		{"late gate", "p~\nq~\n(pq)~: p q\ns\nx: (pq) s", "", "s p q x"},
		{"late, half fails", "p~\nq~\nx: p q\n-p!:; p x\n-q!:; q x", "p", "p -p"},
		{"late, woken though merely waited for", "p~\nb: p a\na:; c\nc!:; p", "", "p c a b"},
		{"lease", lease, "", "+S +V +E +P +X -P -E -V +Y"},
		{"lease, slow fails", lease, "+S", "+S"},
		{"lease, provider fails", lease, "+P", "+S +V +E +P -P -E -V"},
		{"lease, user fails", lease, "+X", "+S +V +E +P +X -P -E -V"},
	} {
		var fail []string
		if c.fail != "" {
			fail = []string{c.fail}
		}
		if diff := cmp.Diff(c.want, trace(parse(c.graph), fail...)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestText(t *testing.T) {
	g := parse(lease + "(both): +S +Y; -V -V")
	want := `+S
+V late
+E late; needs +V
+P late; needs +E
+X; needs +S +P
+Y; needs +X
-P closer; waits +P +X
-E closer; waits +E +P -P
-V closer; waits +V +E -E
(both) gate; needs +S +Y; waits -V
`
	if diff := cmp.Diff(want, g.Text(g.Label)); diff != "" {
		t.Error(diff)
	}
}

func TestStuck(t *testing.T) {
	g := parse("a: b c\nb: a\nc\nd: b\n(g): d")
	var skipped []string
	r := g.Run(context.Background(), RunOptions{Workers: 2,
		Run:     func(context.Context, Node, *Fan) bool { return true },
		Skipped: func(n Node) { skipped = append(skipped, g.Label(n)) }})
	if diff := cmp.Diff([]string{"a", "b", "d"}, skipped); diff != "" {
		t.Error(diff)
	}
	if len(r.Stuck) != 4 || r.Of(g.ids["c"]) != Succeeded || r.Of(g.ids["d"]) != Skipped {
		t.Errorf("unexpected result: %v", r)
	}
}
