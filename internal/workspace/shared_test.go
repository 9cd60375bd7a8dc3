package workspace

import (
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/state/parts"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/storetest"
	"github.com/zclconf/go-cty/cty"
)

// team is a store whose state is divided into parts. Several working directories use it.
type team struct {
	*testing.T
	store *storetest.Divided
}

func newTeam(t *testing.T, objects ...string) *team {
	d := &storetest.Divided{}
	b := newBench(t)
	b.store = d
	s := b.lock(Request{})
	if s.Shared() {
		t.Error("a state that is not there is shared")
	}
	e := (&state.Snapshot{Lineage: "l"}).Edit()
	for _, a := range objects {
		e.Put(object(t, a), entry("0"))
	}
	if !s.Save(e.Done()) {
		t.Fatal(b.Bag.List())
	}
	s.Unlock()
	return &team{t, d}
}

// run is a command that runs in its own directory.
type run struct {
	*bench
	s    *State
	base *state.Snapshot
}

func (m *team) bench() *bench {
	b := newBench(m.T)
	b.store = m.store
	return b
}

func (m *team) run(b *bench) *run {
	m.Helper()
	s := b.lock(Request{Operation: operation.Apply})
	if !s.Shared() {
		m.Fatal("the state is not shared")
	}
	return &run{b, s, s.Snapshot()}
}

// claim claims objects, and reports whether that succeeded. An object may be followed by "<" and an object that it
// needs.
func (r *run) claim(objects ...string) bool {
	p := store.Parts{}
	for _, a := range objects {
		a, need, _ := strings.Cut(a, "<")
		parts.Change(p, object(r.T, a).Instance)
		if need != "" {
			i := object(r.T, need).Instance
			parts.Need(p, i.Module, i.Resource())
		}
	}
	return r.claims(Claim{Base: r.base, Parts: p, Of: of})
}

// claims calls Claim and returns its second result. It reports a stale plan as an error, like a command that does not
// plan again.
func (r *run) claims(c Claim) bool {
	stale, ok := r.s.Claim(ctx, c)
	if stale != nil {
		r.Bag.Add(*stale)
	}
	return ok
}

func of(o addr.Object, e *state.Entry) store.Parts {
	p := store.Parts{}
	parts.Change(p, o.Instance)
	for _, r := range e.Recorded {
		parts.Need(p, addr.ModuleInstance{}, r)
	}
	return p
}

// made returns the state at the start of the run with objects changed. An empty id removes an object.
func (r *run) made(changes ...string) *state.Snapshot {
	e := r.base.Edit()
	for _, c := range changes {
		a, id, _ := strings.Cut(c, "=")
		if id == "" {
			e.Put(object(r.T, a), nil)
		} else {
			e.Put(object(r.T, a), entry(id))
		}
	}
	return e.Done()
}

func (r *run) save(changes ...string) {
	r.Helper()
	if !r.s.SaveApplied(r.made(changes...)) {
		r.Error(r.Bag.List())
	}
	r.s.Unlock()
}

// has compares the serial, objects, outputs and checks of the stored state with the wanted ones.
func (m *team) has(serial uint64, want string) {
	m.Helper()
	data, _, err := m.store.Get(ctx, store.Default)
	if err != nil {
		m.Fatal(err)
	}
	s, ok := state.Read(data, &diag.Bag{})
	if !ok {
		m.Fatalf("%s", data)
	}
	var got []string
	for o, e := range s.Objects() {
		got = append(got, fmt.Sprintf("%s=%s", o, e.ID()))
	}
	for name := range s.Outputs {
		got = append(got, "output."+name)
	}
	for _, c := range s.Checks {
		got = append(got, c.Addr+"="+c.Status.String())
	}
	if text := strings.Join(got, " "); text != want || s.Serial != serial {
		m.Errorf("serial %d has %s, want serial %d with %s", s.Serial, text, serial, want)
	}
}

// TestSharedDisjoint checks that the state contains the changes of two concurrent runs that change different objects.
func TestSharedDisjoint(t *testing.T) {
	m := newTeam(t, "x_a.a", "x_b.b", "x_c.c")
	a, b := m.run(m.bench()), m.run(m.bench())
	if !a.claim("x_a.a<x_c.c", "x_n.n") || !b.claim("x_b.b<x_c.c") {
		t.Fatal(a.Bag.List(), b.Bag.List())
	}
	a.save("x_a.a=1", "x_n.n=1")
	b.save("x_b.b=")
	a.reported()
	b.reported()
	m.has(3, "x_a.a=1 x_c.c=0 x_n.n=1")
}

// TestSharedMeet checks two runs whose claims conflict. The second claim fails while the first run holds its parts.
// After that run has written them, the claim fails because the plan is out of date.
func TestSharedMeet(t *testing.T) {
	for name, c := range map[string][2]string{
		"the same": {"x_a.a", "x_a.a"}, "what one needs": {"x_b.b<x_a.a", "x_a.a"}, "what the other needs": {"x_a.a", "x_b.b<x_a.a"},
		"another instance": {"x_b.b<x_a.a", "x_a.a[1]"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newTeam(t, "x_a.a", "x_b.b")
			a, b := m.run(m.bench()), m.run(m.bench())
			if !a.claim(c[0]) || b.claim(c[1]) {
				t.Fatal("they have it both")
			}
			b.reported("Error acquiring the state lock")
			first, need, _ := strings.Cut(c[0], "<")
			left := entry("1")
			if need != "" {
				left.Recorded = []addr.Resource{object(t, need).Resource()}
			}
			e := a.base.Edit()
			e.Put(object(t, first), left)
			if !a.s.SaveApplied(e.Done()) {
				t.Fatal(a.Bag.List())
			}
			a.s.Unlock()
			if b.claim(c[1]) {
				t.Error("a plan of what is no more is carried out")
			}
			b.reported("Plan is out of date")
			b.s.Unlock()
			again := m.run(m.bench())
			if !again.claim(c[1]) {
				t.Error(again.Bag.List())
			}
			again.s.Unlock()
		})
	}
}

// TestSharedDependents checks that a plan is out of date if another run has created an object that depends on an object
// that the plan changes. A plan for other objects stays valid.
func TestSharedDependents(t *testing.T) {
	m := newTeam(t, "x_a.a", "x_b.b")
	a, b, c := m.run(m.bench()), m.run(m.bench()), m.run(m.bench())
	if !a.claim("x_n.n<x_a.a") {
		t.Fatal(a.Bag.List())
	}
	e := a.base.Edit()
	e.Put(object(t, "x_n.n"), &state.Entry{Attrs: []byte(`{"id":"1"}`), Provider: provider, Recorded: []addr.Resource{object(t, "x_a.a").Resource()}})
	if !a.s.SaveApplied(e.Done()) {
		t.Fatal(a.Bag.List())
	}
	a.s.Unlock()
	if b.claim("x_a.a") {
		t.Error("it destroys what another needs by now")
	}
	b.reported("Plan is out of date")
	b.s.Unlock()
	if !c.claim("x_b.b") {
		t.Error(c.Bag.List())
	}
	c.save("x_b.b=1")
	m.has(3, "x_a.a=0 x_b.b=1 x_n.n=1")
}

// TestSharedLate checks which incidental changes a run writes: drift of objects that no other run has claimed or
// changed, outputs and checks.
func TestSharedLate(t *testing.T) {
	m := newTeam(t, "x_a.a", "x_b.b", "x_c.c", "x_d.d", "x_e.e")
	a, b, c := m.run(m.bench()), m.run(m.bench()), m.run(m.bench())
	if !a.claim("x_a.a") || !b.claim("x_b.b<x_e.e") || !c.claim("x_c.c") {
		t.Fatal("they meet")
	}
	c.save("x_c.c=2")
	e := a.made("x_a.a=1", "x_b.b=drift", "x_c.c=drift", "x_d.d=drift", "x_e.e=drift").Edit()
	e.Output("o", state.Output{Value: mark.Plain(cty.True), Type: cty.Bool})
	e.PutCheck(state.Check{Kind: "check", Addr: "check.c", Status: state.Pass})
	if !a.s.SaveApplied(e.Done()) {
		t.Fatal(a.Bag.List())
	}
	a.s.Unlock()
	m.has(3, "x_a.a=1 x_b.b=0 x_c.c=2 x_d.d=drift x_e.e=0 output.o check.c=pass")
	b.save("x_b.b=1")
	m.has(4, "x_a.a=1 x_b.b=1 x_c.c=2 x_d.d=drift x_e.e=0 output.o check.c=pass")
	b.reported()
}

// TestSharedFresh checks that a plan stays valid if another run wrote the drift that the plan found, too.
func TestSharedFresh(t *testing.T) {
	m := newTeam(t, "x_a.a", "x_b.b", "x_c.c")
	a, b, c := m.run(m.bench()), m.run(m.bench()), m.run(m.bench())
	if !a.claim("x_a.a") {
		t.Fatal(a.Bag.List())
	}
	a.save("x_a.a=1", "x_c.c=drift")
	p := store.Parts{}
	parts.Change(p, object(t, "x_b.b").Instance)
	parts.Change(p, object(t, "x_c.c").Instance)
	if b.claims(Claim{Base: b.base, Refreshed: b.made("x_c.c=more"), Parts: p, Of: of}) {
		t.Error("what was refreshed is something else by now")
	}
	b.reported("Plan is out of date")
	b.s.Unlock()
	if !c.claims(Claim{Base: c.base, Refreshed: c.made("x_c.c=drift"), Parts: p, Of: of}) {
		t.Fatal(c.Bag.List())
	}
	c.save("x_b.b=1", "x_c.c=2")
	m.has(3, "x_a.a=1 x_b.b=1 x_c.c=2")
}

// TestSharedAlone checks that a command that needs the whole state is refused while other runs share the state, and
// that no other run can share the state while such a command holds it.
func TestSharedAlone(t *testing.T) {
	m := newTeam(t, "x_a.a")
	a, b := m.run(m.bench()), m.bench()
	if _, ok := Lock(ctx, b.Env, Request{Store: m.store, Name: store.Default, Lock: true}); ok {
		t.Error("it is locked although another shares it")
	}
	b.reported("Error acquiring the state lock")
	a.s.Unlock()
	s := b.lock(Request{})
	c := m.bench()
	if _, ok := Lock(ctx, c.Env, Request{Store: m.store, Name: store.Default, Lock: true, Operation: operation.Apply}); ok {
		t.Error("it is shared although another has locked it")
	}
	c.reported("Error acquiring the state lock")
	s.Unlock()
}

// TestSharedDirectory checks that only one run at a time may share the state in one directory, because a directory has
// one journal.
func TestSharedDirectory(t *testing.T) {
	m := newTeam(t, "x_a.a")
	b := m.bench()
	a := m.run(b)
	if _, ok := Lock(ctx, b.Env, Request{Store: m.store, Name: store.Default, Lock: true, Operation: operation.Apply}); ok {
		t.Error("two share it in one directory")
	}
	b.reported("Error acquiring the state lock")
	a.s.Unlock()
	m.run(b).s.Unlock()
}

// TestSharedUnclaimed checks that Save fails and writes nothing if the plan has not claimed its parts.
func TestSharedUnclaimed(t *testing.T) {
	m := newTeam(t, "x_a.a")
	a := m.run(m.bench())
	if a.s.Save(a.made("x_a.a=1")) {
		t.Error("it is written")
	}
	a.s.Unlock()
	m.has(1, "x_a.a=0")
}

// TestSharedKilled checks that the changes of a killed run are merged, object by object, into the state that others
// have written since.
func TestSharedKilled(t *testing.T) {
	m := newTeam(t, "x_a.a", "x_b.b", "x_c.c")
	here := m.bench()
	a := m.run(here)
	if !a.claim("x_a.a", "x_b.b", "x_n.n", "x_g.g") {
		t.Fatal(a.Bag.List())
	}
	j, ok := a.s.Record()
	if !ok {
		t.Fatal(a.Bag.List())
	}
	for _, c := range []journal.Change{{Object: object(t, "x_a.a"), Entry: entry("1")}, {Object: object(t, "x_b.b"), Entry: nil}, {Object: object(t, "x_n.n"), Entry: entry("2")}, {Object: object(t, "x_n.n"), Entry: entry("3")}} {
		op, err := j.Intent(journal.Intent{Object: c.Object, Action: "create", Provider: provider})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		j.Later(func(err error) { done <- err }, op, c)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	die(t, a.s)
	others := m.run(m.bench())
	if !others.claim("x_b.b", "x_c.c") {
		t.Fatal(others.Bag.List())
	}
	// The lock is refused while another run has claimed an object that the killed run changed.
	if _, ok := Lock(ctx, here.Env, Request{Store: m.store, Name: store.Default, Lock: true, Operation: operation.Apply}); ok {
		t.Error("what another works on is taken in")
	}
	here.reported("Error acquiring the state lock")
	others.save("x_b.b=other", "x_c.c=other")
	again := m.run(here)
	here.reported("Recovered an interrupted run", "Changes not recovered")
	again.s.Unlock()
	m.has(3, "x_a.a=1 x_b.b=other x_c.c=other x_n.n=3")
	if aside, _ := filepath.Glob(filepath.Join(here.Data, "*aside*")); len(aside) != 1 {
		t.Errorf("kept are %q", aside)
	}
	m.run(here).s.Unlock()
	here.reported()
	left, err := os.ReadDir(here.Data)
	if err != nil || len(left) != 1 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// TestSharedWritten checks that nothing is recovered from a run that was killed after it wrote the state and before it
// removed its journal.
func TestSharedWritten(t *testing.T) {
	m := newTeam(t, "x_a.a", "x_b.b")
	here := m.bench()
	a := m.run(here)
	if !a.claim("x_a.a") {
		t.Fatal(a.Bag.List())
	}
	change(t, a.s, "x_a.a")
	e := a.base.Edit()
	e.Put(object(t, "x_a.a"), entry("x_a.a"))
	if !a.s.SaveApplied(e.Done()) {
		t.Fatal(a.Bag.List())
	}
	die(t, a.s)
	b := m.run(m.bench())
	if !b.claim("x_b.b") {
		t.Fatal(b.Bag.List())
	}
	b.save("x_b.b=1")
	m.run(here).s.Unlock()
	here.reported()
	m.has(3, "x_a.a=x_a.a x_b.b=1")
}

// TestSharedSerial checks that two concurrent runs are serializable. Their plans and the order of their steps are
// random. The final state must be equal to the result of the runs that succeeded, one after the other, in one of the
// two orders. The id of a changed object is computed from the run and the ids of the objects that it needs.
func TestSharedSerial(t *testing.T) {
	names := []string{"x_a.a", "x_b.b", "x_c.c", "x_d.d[0]", "x_d.d[1]"}
	type plan struct{ changes map[string][]string } // the changed objects, and the objects that each needs
	values := func(s *state.Snapshot) map[string]string {
		out := map[string]string{}
		for o, e := range s.Objects() {
			out[o.String()] = e.ID()
		}
		return out
	}
	// carried applies the changes of a plan to a state (onto), and returns the result. The parameter from is the state
	// with which the plan was made.
	carried := func(run string, p plan, from, onto map[string]string) map[string]string {
		out := maps.Clone(onto)
		for name, needs := range p.changes {
			text := run
			for _, n := range needs {
				text += fmt.Sprint(n, from[n], ";")
			}
			if out[name] = fmt.Sprintf("%x", crc32.ChecksumIEEE([]byte(text))); strings.HasSuffix(out[name], "0") {
				delete(out, name)
			}
		}
		return out
	}
	random := rand.New(rand.NewPCG(1, 2))
	made := func() plan {
		p := plan{map[string][]string{}}
		for range 1 + random.IntN(3) {
			at := random.IntN(len(names))
			var needs []string
			for range random.IntN(4) {
				if n := random.IntN(len(names)); n < at { // an object needs only objects before it, so that no cycle exists
					needs = append(needs, names[n])
				}
			}
			p.changes[names[at]] = needs
		}
		return p
	}
	outcomes := map[string]int{}
	for range 200 {
		m := newTeam(t, names...)
		plans := map[string]plan{"a": made(), "b": made()}
		runs := map[string]*run{}
		left := map[string]int{"a": 0, "b": 0}
		well := map[string]bool{}
		for len(left) > 0 {
			who := []string{"a", "b"}[random.IntN(2)]
			step, ok := left[who]
			if !ok {
				continue
			}
			left[who]++
			p := plans[who]
			switch step {
			case 0:
				runs[who] = m.run(m.bench())
			case 1:
				var claims []string
				for name, needs := range p.changes {
					claims = append(claims, name)
					for _, n := range needs {
						claims = append(claims, name+"<"+n)
					}
				}
				if well[who] = runs[who].claim(claims...); !well[who] {
					runs[who].s.Unlock()
					delete(left, who)
				}
			case 2:
				r := runs[who]
				e := r.base.Edit()
				base := values(r.base)
				after := carried(who, p, base, base)
				for name, needs := range p.changes {
					id, exists := after[name]
					if !exists {
						e.Put(object(t, name), nil)
						continue
					}
					x := entry(id)
					for _, n := range needs {
						x.Recorded = append(x.Recorded, object(t, n).Resource())
					}
					e.Put(object(t, name), x)
				}
				if !r.s.SaveApplied(e.Done()) {
					t.Fatal(r.Bag.List())
				}
				r.s.Unlock()
				delete(left, who)
			}
		}
		data, _, _ := m.store.Get(ctx, store.Default)
		s, _ := state.Read(data, &diag.Bag{})
		got := values(s)
		begin := map[string]string{}
		for _, n := range names {
			begin[n] = "0"
		}
		serial := func(order ...string) bool {
			now := begin
			for _, who := range order {
				if well[who] {
					now = carried(who, plans[who], now, now)
				}
			}
			return maps.Equal(now, got)
		}
		if !serial("a", "b") && !serial("b", "a") {
			t.Fatalf("the plans %v, of which %v were carried out, make %v, which they make in no order", plans, well, got)
		}
		outcomes[fmt.Sprint(well["a"], well["b"])]++
	}
	if t.Log(outcomes); outcomes["true true"] < 20 || outcomes["true false"] < 20 || outcomes["false true"] < 20 {
		t.Error("too few of one kind")
	}
}

// TestSharedOrders checks many concurrent runs on few objects. Each successful run adds 1 to the id of its object, so
// the sum of the ids must be the number of successful runs.
func TestSharedOrders(t *testing.T) {
	const objects, runs = 4, 60
	var names []string
	for i := range objects {
		names = append(names, fmt.Sprintf("x_a.o[%d]", i))
	}
	m := newTeam(t, names...)
	done := make(chan int, runs)
	for i := range runs {
		b := m.bench()
		go func() {
			n, a := 0, names[i%objects]
			for range 200 {
				s, ok := Lock(ctx, b.Env, Request{Store: m.store, Name: store.Default, Lock: true, Operation: operation.Apply})
				if !ok {
					continue
				}
				r := &run{b, s, s.Snapshot()}
				was := r.base.Get(object(t, a)).ID()
				p := store.Parts{}
				parts.Change(p, object(t, a).Instance)
				if _, ok := s.Claim(ctx, Claim{Base: r.base, Parts: p, Of: of}); ok { // the id is a counter, so a lost change makes the sum too small
					var count int
					fmt.Sscan(was, &count)
					if s.SaveApplied(r.made(fmt.Sprintf("%s=%d", a, count+1))) {
						n++
					}
				}
				s.Unlock()
				if n == 1 {
					break
				}
			}
			done <- n
		}()
	}
	total := 0
	for range runs {
		total += <-done
	}
	sum := 0
	data, _, _ := m.store.Get(ctx, store.Default)
	s, _ := state.Read(data, &diag.Bag{})
	for _, e := range s.Objects() {
		var count int
		fmt.Sscan(e.ID(), &count)
		sum += count
	}
	if sum != total || s.Serial != uint64(1+total) || total == 0 {
		t.Errorf("%d changes were made, and %d are there, in serial %d", total, sum, s.Serial)
	}
	t.Logf("%d changes", total)
}

// TestSharedAgain checks two runs whose plans are out of date, and each of which holds a part that the other's next
// plan needs. The first one to claim releases its parts instead of waiting, and both runs finish.
func TestSharedAgain(t *testing.T) {
	m := newTeam(t, "x_a.a", "x_b.b", "x_c.c")
	a, b, c := m.run(m.bench()), m.run(m.bench()), m.run(m.bench())
	if !c.claim("x_a.a", "x_b.b") {
		t.Fatal("the state is free")
	}
	c.save("x_a.a=1", "x_b.b=1")
	claim := func(r *run, objects ...string) (stale, ok bool) {
		p := store.Parts{}
		for _, o := range objects {
			parts.Change(p, object(t, o).Instance)
		}
		d, ok := r.s.Claim(ctx, Claim{Base: r.base, Parts: p, Of: of})
		return d != nil, ok
	}
	for r, own := range map[*run]string{a: "x_a.a", b: "x_b.b"} {
		if stale, ok := claim(r, own); !stale || ok {
			t.Fatalf("the plan is not out of date: %v", r.Bag.List())
		}
		if !r.s.Reload(ctx) {
			t.Fatal(r.Bag.List())
		}
		r.base = r.s.Snapshot()
	}
	if stale, ok := claim(a, "x_a.a", "x_b.b"); !stale || ok {
		t.Error("two have one part")
	}
	if stale, ok := claim(b, "x_a.a", "x_b.b"); stale || !ok {
		t.Fatalf("the first has not given its parts back: %v", b.Bag.List())
	}
	b.save("x_a.a=2", "x_b.b=2")
	if !a.s.Reload(ctx) {
		t.Fatal(a.Bag.List())
	}
	a.base = a.s.Snapshot()
	if stale, ok := claim(a, "x_a.a", "x_b.b"); stale || !ok {
		t.Fatal(a.Bag.List())
	}
	a.save("x_a.a=3", "x_b.b=3")
	m.has(4, "x_a.a=3 x_b.b=3 x_c.c=0")
}
