package parts

import (
	"maps"
	"slices"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/store"
)

func instance(t *testing.T, text string) addr.Instance {
	t.Helper()
	i, err := addr.ParseInstance(text)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// TestMeet checks that two sets of parts conflict if one run changes an instance that the other run needs. The other
// run needs a resource because code in a module instance refers to it. Code in module.m["a"] needs the instances of a
// resource of m in module.m["a"], and code in the root module those in all instances of m.
func TestMeet(t *testing.T) {
	for _, c := range []struct {
		// change is the changed instance. The instance from refers to the resource of the instance need.
		change, from, need string
		meet               bool
	}{
		{"t.a", "t.x", "t.a", true},
		{"t.a", "t.x", "t.b", false},
		{`t.a["k"]`, "t.x", "t.a", true},
		{`module.m["a"].t.a`, `module.m["a"].t.x`, `module.m["z"].t.a`, true},
		{`module.m["b"].t.a`, `module.m["a"].t.x`, `module.m["z"].t.a`, false},
		{`module.m["b"].t.a`, `t.x`, `module.m["z"].t.a`, true},
		{`module.m["b"].module.n[0].t.a`, `module.m["b"].t.x`, `module.m["z"].module.n[7].t.a`, true},
		{`module.m["b"].module.n[0].t.a`, `module.m["c"].t.x`, `module.m["z"].module.n[7].t.a`, false},
		{`module.m.t.a`, `t.x`, `module.m.t.a`, true},
		{`module.m.t.a`, `t.x`, `t.a`, false},
		{`data.t.a`, `t.x`, `t.a`, false},
	} {
		p, q := store.Parts{}, store.Parts{}
		Change(p, instance(t, c.change))
		r := instance(t, c.need).Resource()
		Need(q, instance(t, c.from).Module.Around(r.Module), r)
		if _, meet := p.Intersects(q); meet != c.meet {
			t.Errorf("%v: they meet: %v", c, meet)
		}
		WholeState(q)
		if _, meet := p.Intersects(q); !meet {
			t.Errorf("%v: a part and the whole do not meet", c)
		}
	}
}

func TestNames(t *testing.T) {
	p := store.Parts{}
	Change(p, instance(t, `module.a["x"].module.b.t.n[0]`))
	Output(p, "o")
	Check(p, "resource", "t.n")
	want := []string{"all of the state", `module.a["x"].module.b.t.n[*]`, `module.a["x"].module.b.t.n[0]`, `module.a["x"].module.b[*].t.n[*]`, "module.a[*].module.b[*].t.n[*]", "output.o", "resource conditions of t.n"}
	if got := slices.Sorted(maps.Keys(p)); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if !Changes(p, instance(t, `module.a["x"].module.b.t.n[0]`)) || Changes(p, instance(t, `module.a["x"].module.b.t.n[1]`)) || !ChangesOutput(p, "o") || ChangesOutput(p, "p") || IsWholeState(p) {
		t.Error("what is changed is not known")
	}
}
