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
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/state/parts"
	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/lethe-iac/lethe/internal/state/store/storetest"
	"github.com/zclconf/go-cty/cty"
)

// team are working directories with one state that can be divided.
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

// run is a command in a directory of its own.
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
	s := b.lock(Request{Shares: true, Operation: "OperationTypeApply"})
	if !s.Shared() {
		m.Fatal("the state is not shared")
	}
	return &run{b, s, s.Snapshot()}
}

// claim claims objects, with what they need after "<".
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
	return r.s.Claim(ctx, Claim{Base: r.base, Parts: p, Of: of})
}

func of(o addr.Object, e *state.Entry) store.Parts {
	p := store.Parts{}
	parts.Change(p, o.Instance)
	for _, r := range e.Recorded {
		parts.Need(p, addr.ModuleInstance{}, r)
	}
	return p
}

// made is the run's own state with objects changed; an id of "" removes one.
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

// has checks what is stored.
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

// TestSharedDisjoint: what two made is in the state.
func TestSharedDisjoint(t *testing.T) {
	m := newTeam(t, "x_a.a", "x_b.b", "x_c.c")
	a, b := m.run(m.bench()), m.run(m.bench())
	if !a.claim("x_a.a<x_c.c", "x_n.n") || !b.claim("x_b.b<x_c.c") {
		t.Fatal(a.Bag.List(), b.Bag.List())
	}
	a.save("x_a.a=1", "x_n.n=1")
	b.save("x_b.b=")
	a.said()
	b.said()
	m.has(3, "x_a.a=1 x_c.c=0 x_n.n=1")
}

// TestSharedMeet: of two that meet one is refused when it claims, and when it comes with the same plan after the other.
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
			b.said("Error acquiring the state lock")
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
			b.said("Plan is out of date")
			b.s.Unlock()
			again := m.run(m.bench())
			if !again.claim(c[1]) {
				t.Error(again.Bag.List())
			}
			again.s.Unlock()
		})
	}
}

// TestSharedDependents: an object that came meanwhile and depends on what a plan changes makes that out of date, and one
// that does not, does not.
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
	b.said("Plan is out of date")
	b.s.Unlock()
	if !c.claim("x_b.b") {
		t.Error(c.Bag.List())
	}
	c.save("x_b.b=1")
	m.has(3, "x_a.a=0 x_b.b=1 x_n.n=1")
}

// TestSharedLate: what a run learned by the way is written where no other works on it.
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
	b.said()
}

// TestSharedFresh: what another wrote that the plan had found, too, makes it not out of date.
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
	if b.s.Claim(ctx, Claim{Base: b.base, Fresh: b.made("x_c.c=more"), Parts: p, Of: of}) {
		t.Error("what was refreshed is something else by now")
	}
	b.said("Plan is out of date")
	b.s.Unlock()
	if !c.s.Claim(ctx, Claim{Base: c.base, Fresh: c.made("x_c.c=drift"), Parts: p, Of: of}) {
		t.Fatal(c.Bag.List())
	}
	c.save("x_b.b=1", "x_c.c=2")
	m.has(3, "x_a.a=1 x_b.b=1 x_c.c=2")
}

// TestSharedAlone: a command that does not share waits for those that do, and they for it.
func TestSharedAlone(t *testing.T) {
	m := newTeam(t, "x_a.a")
	a, b := m.run(m.bench()), m.bench()
	if _, ok := Lock(ctx, b.Env, Request{Store: m.store, Name: store.Default, Lock: true}); ok {
		t.Error("it is locked although another shares it")
	}
	b.said("Error acquiring the state lock")
	a.s.Unlock()
	s := b.lock(Request{})
	c := m.bench()
	if _, ok := Lock(ctx, c.Env, Request{Store: m.store, Name: store.Default, Lock: true, Shares: true}); ok {
		t.Error("it is shared although another has locked it")
	}
	c.said("Error acquiring the state lock")
	s.Unlock()
}

// TestSharedDirectory: in one directory there is one at a time, for there is one journal.
func TestSharedDirectory(t *testing.T) {
	m := newTeam(t, "x_a.a")
	b := m.bench()
	a := m.run(b)
	if _, ok := Lock(ctx, b.Env, Request{Store: m.store, Name: store.Default, Lock: true, Shares: true}); ok {
		t.Error("two share it in one directory")
	}
	b.said("Error acquiring the state lock")
	a.s.Unlock()
	m.run(b).s.Unlock()
}

// TestSharedUnclaimed: nothing is written of a plan that has not claimed.
func TestSharedUnclaimed(t *testing.T) {
	m := newTeam(t, "x_a.a")
	a := m.run(m.bench())
	if a.s.Save(a.made("x_a.a=1")) {
		t.Error("it is written")
	}
	a.s.Unlock()
	m.has(1, "x_a.a=0")
}

// TestSharedKilled: what a killed run had done comes into the state as others have left it, by object.
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
		over := make(chan error, 1)
		j.Later(func(err error) { over <- err }, op, c)
		if err := <-over; err != nil {
			t.Fatal(err)
		}
	}
	die(t, a.s)
	others := m.run(m.bench())
	if !others.claim("x_b.b", "x_c.c") {
		t.Fatal(others.Bag.List())
	}
	// One that has what the killed run changed is waited for.
	if _, ok := Lock(ctx, here.Env, Request{Store: m.store, Name: store.Default, Lock: true, Shares: true}); ok {
		t.Error("what another works on is taken in")
	}
	here.said("Error acquiring the state lock")
	others.save("x_b.b=other", "x_c.c=other")
	again := m.run(here)
	here.said("Recovered an interrupted run", "Changes not recovered")
	again.s.Unlock()
	m.has(3, "x_a.a=1 x_b.b=other x_c.c=other x_n.n=3")
	if aside, _ := filepath.Glob(filepath.Join(here.Data, "*aside*")); len(aside) != 1 {
		t.Errorf("kept are %q", aside)
	}
	m.run(here).s.Unlock()
	here.said()
	left, err := os.ReadDir(here.Data)
	if err != nil || len(left) != 1 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// TestSharedWritten: a run that is killed after it wrote, and before its journal is gone, has nothing to be taken in.
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
	here.said()
	m.has(3, "x_a.a=x_a.a x_b.b=1")
}

// TestSharedSerial: two runs, of random plans and in a random order of their steps, leave what one leaves, or both one
// after the other, in one of the two orders. An object is made from its plan and the objects that it needs.
func TestSharedSerial(t *testing.T) {
	names := []string{"x_a.a", "x_b.b", "x_c.c", "x_d.d[0]", "x_d.d[1]"}
	type plan struct{ changes map[string][]string } // what is changed, and what that needs
	values := func(s *state.Snapshot) map[string]string {
		out := map[string]string{}
		for o, e := range s.Objects() {
			out[o.String()] = e.ID()
		}
		return out
	}
	// carried is what a plan makes of a state, by which it is made from another one.
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
				if n := random.IntN(len(names)); n < at { // no cycles
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
					id, there := after[name]
					if !there {
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

// TestSharedOrders: of many runs on few objects at once each is refused, or its change is there: what the state has in the
// end some order of those that were not refused makes.
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
				s, ok := Lock(ctx, b.Env, Request{Store: m.store, Name: store.Default, Lock: true, Shares: true})
				if !ok {
					continue
				}
				r := &run{b, s, s.Snapshot()}
				was := r.base.Get(object(t, a)).ID()
				p := store.Parts{}
				parts.Change(p, object(t, a).Instance)
				if s.Claim(ctx, Claim{Base: r.base, Parts: p, Of: of}) { // it counts: one that is lost would show
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
