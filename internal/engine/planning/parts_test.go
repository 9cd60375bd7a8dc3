package planning

import (
	"context"
	"slices"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/walk"
)

func thing(name string) addr.Object {
	return addr.Resource{Type: "fake_thing", Name: name}.In(addr.ModuleInstance{}).Instance(addr.NoKey).Current()
}

// stateOf returns a refreshedState, before any refresh, for a prior state with these objects.
func stateOf(names ...string) *refreshedState {
	edit := (&state.Snapshot{}).Edit()
	for _, name := range names {
		edit.Put(thing(name), &state.Entry{Attrs: []byte(`{"id":"` + name + `"}`)})
	}
	prior := edit.Objects()
	return newRefreshedState(prior, run.HostsFor(&run.Settings{}, nil, prior))
}

// refreshedState has the results of refreshing objects and reading data sources. It lacks an imported object, which the
// plan adds.
func TestRefreshedState(t *testing.T) {
	s := stateOf("kept", "gone", "drifts", "unread", "dropped")
	other := &state.Entry{Attrs: []byte(`{"id":"other"}`)}
	s.refresh(thing("kept"), object.Current{Entry: s.prior.Get(thing("kept"))}, s.prior.Get(thing("kept")))
	s.refresh(thing("gone"), object.Current{}, s.prior.Get(thing("gone")))
	s.refresh(thing("drifts"), object.Current{Entry: other}, s.prior.Get(thing("drifts")))
	s.adopt(thing("imported"), object.Current{Entry: other})
	s.put(thing("read"), other)
	s.put(thing("dropped"), nil)
	s.drifted(&plan.Change{Object: thing("drifts")})
	now := s.edit.Objects()
	for name, c := range map[string]struct{ seen, found, unseen, stored bool }{
		"kept":     {seen: true, found: true, stored: true},
		"gone":     {seen: true},
		"drifts":   {seen: true, found: true, stored: true},
		"unread":   {unseen: true, stored: true},
		"imported": {seen: true, found: true},
		"read":     {stored: true},
		"dropped":  {unseen: true},
		"nothing":  {},
	} {
		cur, seen := s.get(thing(name))
		if seen != c.seen || (cur.Entry != nil) != c.found || s.unseen(thing(name)) != c.unseen || (now.Get(thing(name)) != nil) != c.stored {
			t.Errorf("%s: seen %v, found %v, unseen %v, stored %v, want %+v", name, seen, cur.Entry != nil, s.unseen(thing(name)), now.Get(thing(name)) != nil, c)
		}
	}
	if now.Get(thing("drifts")) != other || len(s.drift) != 1 {
		t.Error("the drift is missing")
	}
}

// In a walk, a closer (a node that always runs) runs after a node that failed. A failed node has a name; a gate (a node
// without work) and a closer have no name.
func TestNodes(t *testing.T) {
	n := newNodes(0)
	var ran []string
	work := func(name string, ok bool) nodeWork {
		return func(context.Context, *walk.Fan) bool { ran = append(ran, name); return ok }
	}
	first := n.add("first", work("first", false))
	gate := n.add("", nil)
	second := n.add("second", work("second", true))
	end := n.closer(func() { ran = append(ran, "end") })
	n.graph.Waits(second, first)
	n.graph.Waits(gate, second)
	n.graph.Waits(end, gate)
	n.use(3, second)
	result := n.graph.Run(context.Background(), walk.RunOptions{Workers: 1, Run: n.work})
	if failed := n.failed(result); !slices.Equal(failed, []string{"first"}) || !slices.Equal(ran, []string{"first", "second", "end"}) {
		t.Errorf("failed %v, ran %v", failed, ran)
	}
	if !slices.Equal(n.users[3], []walk.Node{second}) {
		t.Errorf("users %v", n.users)
	}
}

// An import of the command import has priority over the import blocks, which are not evaluated in this case.
func TestImportOfTheCommandLine(t *testing.T) {
	r := importRequests{commanded: []Import{{To: thing("a").Instance, ID: "1"}}}
	im, found, ok := r.find(nil, thing("a").Instance)
	if !ok || !found || im.ID != "1" || !r.byCommand(thing("a").Instance) || r.byCommand(thing("b").Instance) {
		t.Errorf("%+v, %v, %v", im, found, ok)
	}
}
