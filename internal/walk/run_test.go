package walk

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestCancel(t *testing.T) {
	g := parse("a\nb: a\n(g): b\nc\n-p!:; a c\n-q!:; c")
	ctx, cancel := context.WithCancel(context.Background())
	var log []string
	var skipped []string
	r := g.Run(ctx, RunOptions{Workers: 1,
		Run: func(ctx context.Context, n Node, _ *Fan) bool {
			log = append(log, g.Label(n))
			if n == g.ids["a"] {
				cancel()
			}
			if n == g.ids["-p"] && ctx.Err() != nil {
				t.Error("a closer runs under a context that has not ended")
			}
			return true
		},
		Skipped: func(n Node) { skipped = append(skipped, g.Label(n)) },
	})
	slices.Sort(skipped)
	if got := strings.Join(log, " ") + " | " + strings.Join(skipped, " "); got != "a -p | -q b c" {
		t.Errorf("got %s", got)
	}
	if r.Of(g.ids["a"]) != Succeeded || r.Of(g.ids["b"]) != Skipped || r.Of(g.ids["(g)"]) != Skipped {
		t.Errorf("outcomes: %v", r.Outcomes)
	}
}

// A running visit of a node finishes: the context of the visit does not end with the context of the run.
func TestContext(t *testing.T) {
	type key struct{}
	g := parse("a\nb: a\n-p!:; a")
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), key{}, "own"))
	var visited []string
	g.Run(ctx, RunOptions{Run: func(ctx context.Context, n Node, _ *Fan) bool {
		cancel()
		if ctx.Err() != nil || ctx.Value(key{}) != "own" {
			t.Errorf("%s has the wrong context", g.Label(n))
		}
		visited = append(visited, g.Label(n))
		return true
	}})
	if len(visited) != 2 || visited[1] != "-p" {
		t.Errorf("visited %v", visited)
	}
}

func TestPanic(t *testing.T) {
	g := parse("a\nb: a\nc\n-p!:; a b")
	var log []string
	r := g.Run(context.Background(), RunOptions{Workers: 1,
		Run: func(_ context.Context, n Node, f *Fan) bool {
			switch g.Label(n) {
			case "a":
				panic("boo")
			case "c":
				f.Jobs(3, func(_ context.Context, i int) bool {
					if i == 1 {
						panic(i)
					}
					return true
				})
			}
			return true
		},
		Panicked: func(n Node, v any, stack []byte) {
			log = append(log, fmt.Sprint(g.Label(n), " ", v))
			if !strings.Contains(string(stack), "TestPanic") {
				t.Errorf("the stack does not show where: %s", stack)
			}
		}})
	if got := strings.Join(log, ", "); got != "a boo, c 1" {
		t.Errorf("got %s", got)
	}
	if fmt.Sprint(r.Outcomes) != "[failed skipped failed succeeded]" {
		t.Errorf("outcomes: %v", r.Outcomes)
	}
}

func TestFan(t *testing.T) {
	g := parse("a\nb:; a\nempty\nafter: empty")
	var ran atomic.Int32
	var most, now atomic.Int32
	r := g.Run(context.Background(), RunOptions{Workers: 4, Run: func(_ context.Context, n Node, f *Fan) bool {
		switch g.Label(n) {
		case "a":
			f.Jobs(100, func(_ context.Context, i int) bool {
				if k := now.Add(1); k > most.Load() {
					most.Store(k)
				}
				time.Sleep(100 * time.Microsecond) // jobs that take no time do not run in parallel
				now.Add(-1)
				ran.Add(1)
				return i != 99
			})
		case "b":
			if ran.Load() != 100 {
				t.Errorf("b ran after %d jobs of a", ran.Load())
			}
		case "empty":
			f.Jobs(0, func(context.Context, int) bool { return false })
		}
		return true
	}})
	if fmt.Sprint(r.Outcomes) != "[failed succeeded succeeded succeeded]" {
		t.Errorf("outcomes: %v", r.Outcomes)
	}
	if most.Load() < 2 || most.Load() > 4 {
		t.Errorf("%d jobs at once with 4 workers", most.Load())
	}
}

func TestFanOfFailedVisit(t *testing.T) {
	g := parse("a\nb: a")
	r := g.Run(context.Background(), RunOptions{Workers: 2, Run: func(_ context.Context, n Node, f *Fan) bool {
		f.Jobs(5, func(context.Context, int) bool { t.Error("a job of a failed visit ran"); return true })
		return false
	}})
	if fmt.Sprint(r.Outcomes) != "[failed skipped]" {
		t.Errorf("outcomes: %v", r.Outcomes)
	}
}

func TestFanCancelled(t *testing.T) {
	g := parse("a\n-p!:; a")
	ctx, cancel := context.WithCancel(context.Background())
	ran := 0
	r := g.Run(ctx, RunOptions{Workers: 1, Run: func(_ context.Context, n Node, f *Fan) bool {
		if n == g.ids["a"] {
			f.Jobs(10, func(context.Context, int) bool {
				if ran++; ran == 3 {
					cancel()
				}
				return true
			})
		}
		return true
	}})
	if ran != 3 || fmt.Sprint(r.Outcomes) != "[failed succeeded]" {
		t.Errorf("%d jobs, %v", ran, r.Outcomes)
	}
}

// TestRandom runs random graphs on several workers and checks every visit against the documented rules. It draws graphs
// with rapid, which searches for corner cases and shrinks failures, and with uniform random numbers.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		holds(t, func(what string, n int) int { return rapid.IntRange(0, n-1).Draw(t, what) })
	})
	for seed := range int64(2000) {
		r := rand.New(rand.NewSource(seed))
		holds(t, func(_ string, n int) int { return r.Intn(n) })
		if t.Failed() {
			t.Fatalf("with seed %d", seed)
		}
	}
}

// holds draws a graph, runs it, and reports violations of the documented rules.
func holds(t interface {
	Errorf(string, ...any)
	Fatalf(string, ...any)
}, draw func(what string, n int) int) {
	n := 1 + draw("nodes", 40)
	tame := draw("tame", 2) == 0 // in a tame graph, only closers wait for lazy nodes, and no node waits for closers
	g := &Graph{}
	fails := make([]bool, n)
	for i := range n {
		fails[i] = draw("fails", 5) == 0
		o := Options{Lazy: draw("late", 4) == 0}
		o.Closer = !o.Lazy && draw("closer", 7) == 0
		if !o.Closer && draw("gate", 5) == 0 {
			g.Gate(o)
		} else {
			g.Add(o)
		}
		for k := draw("deps", 5); k > 0 && i > 0; k-- {
			dep := Node(draw("dep", i))
			switch {
			case tame && g.traits[dep]&closer != 0:
			case tame && g.traits[dep]&lazy != 0 && !o.Closer, draw("needs", 2) == 0:
				g.Needs(Node(i), dep)
			default:
				g.Waits(Node(i), dep)
			}
		}
	}
	c := &checker{tame: tame, g: g, f: g.freeze(), finished: make([]bool, n), visited: make([]int, n)}
	workers := 1 + draw("workers", 4)
	done := make(chan Result)
	go func() {
		done <- g.Run(context.Background(), RunOptions{Workers: workers, Skipped: c.skip,
			Run: func(_ context.Context, x Node, _ *Fan) bool { return c.follow(x, !fails[x]) }})
	}()
	select {
	case r := <-done:
		c.outcomes(r)
	case <-time.After(10 * time.Second):
		t.Fatalf("the run does not end:\n%s", g.Text(numbered))
	}
	for _, m := range c.wrong {
		t.Errorf("%s\n%s", m, g.Text(numbered))
	}
}

// checker checks a run by the documented rules only. It does not use the implementation.
type checker struct {
	tame     bool // the graph is tame (see holds)
	mu       sync.Mutex
	g        *Graph
	f        *frozen
	finished []bool   // by node: the visit has returned, or the skip was reported
	ok       sync.Map // the nodes whose visit succeeded, as keys
	visited  []int    // by node: the number of visits
	wrong    []string // the violations that were found
}

func (c *checker) complain(format string, a ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf(format, a...))
}

// before calls f for each predecessor of x, through gates (nodes without work). It excludes lazy nodes that gates need:
// a gate that can no longer succeed does not wait for lazy nodes that were not requested.
func (c *checker) before(x Node, seen map[Node]bool, f func(Node)) {
	for _, a := range c.f.before(x) {
		if seen[a.node()] || a.needs() && c.f.traits[a.node()]&lazy != 0 && len(seen) > 0 {
			continue
		}
		seen[a.node()] = true
		if t := c.f.traits[a.node()]; t&lazy != 0 {
			continue
		} else if t&gate != 0 {
			c.before(a.node(), seen, f)
		} else {
			f(a.node())
		}
	}
}

func (c *checker) follow(x Node, ok bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.visited[x]++
	c.before(x, map[Node]bool{}, func(d Node) {
		if !c.finished[d] {
			c.complain("%d was visited before %d was over", x, d)
		}
	})
	for _, a := range c.f.before(x) {
		d := a.node()
		if c.f.traits[d]&gate == 0 && !c.finished[d] {
			c.complain("%d was visited before %d was over", x, d)
		}
		if _, good := c.ok.Load(d); a.needs() && c.f.traits[d]&gate == 0 && !good {
			c.complain("%d was visited though %d has not succeeded", x, d)
		}
	}
	if c.tame && c.f.traits[x]&lazy != 0 && !c.awaited(x) {
		c.complain("late %d was visited before anything waited for it alone", x)
	}
	c.finished[x] = true
	if ok {
		c.ok.Store(x, true)
	}
	return ok
}

// awaited reports whether a node that is not lazy and not a gate needs x, directly or through lazy nodes, and otherwise
// waits only for lazy nodes that wait for the same reason.
func (c *checker) awaited(x Node) bool {
	for _, a := range c.f.after(x) {
		if !a.needs() {
			continue
		}
		if c.f.traits[a.node()]&lazy != 0 && c.awaited(a.node()) {
			return true
		}
		if c.f.traits[a.node()]&lazy == 0 && c.only(a.node()) {
			return true
		}
	}
	return false
}

// only reports whether all predecessors of x have ended, except for lazy nodes that themselves wait only for such
// nodes.
func (c *checker) only(x Node) bool {
	for _, a := range c.f.before(x) {
		d := a.node()
		isLazy, isGate := c.f.traits[d]&lazy != 0, c.f.traits[d]&gate != 0
		if (isLazy || isGate) && !c.only(d) || !isLazy && !isGate && !c.finished[d] {
			return false
		}
	}
	return true
}

func (c *checker) skip(x Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finished[x] = true
}

// outcomes compares the result of a run with a plain evaluation of the rules, node by node.
func (c *checker) outcomes(r Result) {
	if r.Stuck != nil {
		c.complain("stuck without a cycle: %v", r.Stuck)
	}
	n := len(c.f.traits)
	can := make([]bool, n)   // by node: no node that it needs has failed
	touch := make([]bool, n) // by node: a predecessor was visited
	may := make([]bool, n)   // by node: a predecessor was visited, also through lazy gates and lazy nodes that failed gates need
	for x := range n {
		can[x] = true
		for _, a := range c.f.before(Node(x)) {
			d := a.node()
			can[x] = can[x] && !(a.needs() && r.Outcomes[d] != Succeeded)
			runNode, isGate := r.Outcomes[d] != Skipped && c.f.traits[d]&gate == 0, c.f.traits[d]&gate != 0
			may[x] = may[x] || runNode || isGate && may[d]
			if c.f.traits[x]&gate != 0 && r.Outcomes[x] == Skipped && a.needs() && c.f.traits[d]&lazy != 0 {
				continue
			}
			touch[x] = touch[x] || runNode || isGate && c.f.traits[d]&lazy == 0 && touch[d]
		}
	}
	for x := range n {
		tr, got := c.f.traits[x], r.Outcomes[x]
		visited := got != Skipped && tr&gate == 0
		if c.visited[x] > 1 || visited != (c.visited[x] == 1) {
			c.complain("%d was visited %d times and is %v", x, c.visited[x], got)
		}
		switch {
		case tr&closer != 0:
			alone := len(c.f.before(Node(x))) == 0
			if got == Skipped && (touch[x] || alone) || got != Skipped && !may[x] && !alone {
				c.complain("closer %d is %v", x, got)
			}
		case tr&lazy != 0:
			if got != Skipped && !can[x] {
				c.complain("late %d is %v", x, got)
			}
			// a node may be skipped only if all nodes that need it are skipped
			for _, a := range c.f.after(Node(x)) {
				if got == Skipped && a.needs() && r.Outcomes[a.node()] != Skipped {
					c.complain("late %d was skipped though %d needs it", x, a.node())
				}
			}
		case (got != Skipped) != can[x]:
			c.complain("%d is %v", x, got)
		}
	}
}

func TestTokens(t *testing.T) {
	tk := NewTokens(2)
	ctx, cancel := context.WithCancelCause(context.Background())
	for range 2 {
		if err := tk.acquire(ctx); err != nil {
			t.Fatal(err)
		}
	}
	cause := fmt.Errorf("enough")
	time.AfterFunc(5*time.Millisecond, func() { cancel(cause) })
	if err := tk.Do(ctx, func() { t.Error("there was no token") }); err != cause {
		t.Errorf("got %v", err)
	}
	tk.give()
	if err := tk.acquire(ctx); err != cause {
		t.Errorf("an ended context got a token, or the wrong cause: %v", err)
	}
	ran := false
	if err := tk.Do(context.Background(), func() { ran = true }); err != nil || !ran || cap(tk.free) != 2 {
		t.Errorf("%v, %v", err, ran)
	}
}

func BenchmarkRun(b *testing.B) {
	for _, workers := range []int{1, 12} {
		b.Run(fmt.Sprintf("nodes=100000/edges=400000/workers=%d", workers), func(b *testing.B) {
			g := layered(100_000)
			b.ReportAllocs()
			for b.Loop() {
				g.Run(context.Background(), RunOptions{Workers: workers, Run: func(context.Context, Node, *Fan) bool { return true }})
			}
		})
	}
	b.Run("jobs=100000/workers=12", func(b *testing.B) {
		g := &Graph{}
		g.Add(Options{})
		for b.Loop() {
			g.Run(context.Background(), RunOptions{Workers: 12, Run: func(_ context.Context, _ Node, f *Fan) bool {
				f.Jobs(100_000, func(context.Context, int) bool { return true })
				return true
			}})
		}
	})
}

// layered returns a graph of n nodes, each of which needs three nodes. All nodes use one hold: a lazy node that opens
// it, and a closer.
func layered(n int) *Graph {
	g := &Graph{}
	up := g.Add(Options{Lazy: true})
	down := g.Add(Options{Closer: true})
	for i := range n {
		x := g.Add(Options{})
		g.Needs(x, up)
		g.Waits(down, x)
		for k := range 3 {
			if d := int(x) - 1 - (i*7919+k*104729)%5000; d > int(down) {
				g.Needs(x, Node(d))
			}
		}
	}
	g.Waits(down, up)
	return g
}

// At any time, no more leases (resources between a lazy node and a closer) are open than there are workers, even if the
// chains have different lengths.
func TestFewOpen(t *testing.T) {
	const leases = 60
	for _, workers := range []int{1, 3} {
		g := &Graph{}
		kind := map[Node]int{}
		add := func(k int, o Options) Node {
			n := g.Add(o)
			kind[n] = k
			return n
		}
		for i := range leases {
			open := add(1, Options{Lazy: true})
			use := add(0, Options{})
			g.Needs(use, open)
			closer := add(-1, Options{Closer: true})
			g.Waits(closer, use)
			g.Waits(closer, open)
			for range i % 4 { // the successors in the chain do not need the lease, so it can be closed before they run
				next := add(0, Options{})
				g.Needs(next, use)
				use = next
			}
		}
		var mu sync.Mutex
		now, most := 0, 0
		result := g.Run(context.Background(), RunOptions{Workers: workers, Run: func(_ context.Context, n Node, _ *Fan) bool {
			mu.Lock()
			defer mu.Unlock()
			now += kind[n]
			most = max(most, now)
			return true
		}})
		if !ok(result) || now != 0 {
			t.Fatalf("%d workers: %d still open, %v", workers, now, result)
		}
		if most > workers {
			t.Errorf("%d workers: %d open at once", workers, most)
		}
	}
}

// ok reports whether every node succeeded.
func ok(r Result) bool {
	return !slices.ContainsFunc(r.Outcomes, func(o Outcome) bool { return o != Succeeded })
}

// numbered returns the number of a node as its label.
func numbered(n Node) string { return fmt.Sprint("#", n) }
