package review

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diff"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

var block = &schema.Block{Attrs: []*schema.Attr{
	{Name: "id", Type: cty.String, Computed: true},
	{Name: "password", Type: cty.String, Optional: true, Sensitive: true},
	{Name: "size", Type: cty.Number, Optional: true},
	{Name: "tags", Type: cty.Map(cty.String), Optional: true},
}}

func lookup(addr.Provider) *provider.Schemas {
	s := provider.NewSchemas(&schema.Schema{Block: &schema.Block{}})
	s.Add(addr.Managed, "test_thing", func() (*schema.Schema, error) { return &schema.Schema{Block: block}, nil })
	return s
}

// object returns an object with an ID, a password and a size, and without tags.
func object(id, password string, size int64) mark.Value {
	v := map[string]cty.Value{"id": cty.StringVal(id), "password": cty.StringVal(password), "size": cty.NumberIntVal(size), "tags": cty.NullVal(cty.Map(cty.String))}
	return mark.Plain(cty.ObjectVal(v))
}

func change(t *testing.T, address string, a plan.Action, before, after mark.Value) *plan.Change {
	t.Helper()
	i, err := addr.ParseInstance(address)
	if err != nil {
		t.Fatal(err)
	}
	return &plan.Change{Object: i.Current(), Was: i.Current(), Action: a, Before: before, After: after}
}

// none is the value of an object before its creation and after its removal.
var none = mark.Plain(cty.NullVal(block.Type()))

// TestOrder checks that destroyed objects are before replaced ones, and both before all others.
func TestOrder(t *testing.T) {
	o := object("i", "p", 1)
	r := New(&plan.Plan{Changes: []*plan.Change{
		change(t, "test_thing.a", plan.Create, none, o), change(t, "test_thing.b", plan.CreateDelete, o, o), change(t, "test_thing.c", plan.Update, o, o),
		change(t, "test_thing.d", plan.Delete, o, none), change(t, "test_thing.e", plan.Forget, o, none), change(t, "test_thing.f", plan.NoOp, o, o),
	}}, nil, lookup)
	got := ""
	for _, c := range r.Changes {
		got += c.Object.Name + ":" + c.Risk().String() + " "
	}
	if got != "d:high b:high e:medium c:medium a:low " {
		t.Error(got)
	}
	if text := r.Counts.Text(); text != "1 to add, 1 to change, 1 to replace, 1 to destroy, 1 to forget" {
		t.Error(text)
	}
}

// TestGroups checks that equal changes of one resource form a group, whatever their passwords and unchanged attributes
// are.
func TestGroups(t *testing.T) {
	var list []*plan.Change
	for i, size := range []int64{2, 2, 3, 2} {
		list = append(list, change(t, fmt.Sprintf(`test_thing.x["%c"]`, 'a'+i), plan.Update, object(fmt.Sprint(i), fmt.Sprint("old", i%2), 1), object(fmt.Sprint(i), fmt.Sprint("new", i), size)))
	}
	list = append(list, change(t, "test_thing.y", plan.Update, object("0", "old0", 1), object("0", "new0", 2)))
	r := New(&plan.Plan{Changes: list}, nil, lookup)
	got := ""
	for _, c := range r.Changes {
		if c.Leads() {
			got += c.Address
			if c.Group != nil {
				got += fmt.Sprintf("+%d%t", len(c.Group.Members), c.Group.Opaque)
			}
			got += " "
		}
	}
	if got != `test_thing.x["a"]+3true test_thing.x["c"] test_thing.y ` {
		t.Error(got)
	}
}

// TestOpaque checks that two passwords count neither as equal nor as different. It also checks that the path of a
// reason does not name the key of a sensitive map.
func TestOpaque(t *testing.T) {
	for _, password := range []string{"same", "other"} {
		c := change(t, "test_thing.x", plan.DeleteCreate, object("i", "same", 1), object("i", password, 1))
		c.Before.Marks = mark.SensitiveAt([]cty.Path{cty.GetAttrPath("tags")})
		c.Replace = []cty.Path{cty.GetAttrPath("tags").IndexString("canary-of-the-key"), cty.GetAttrPath("password")}
		r := New(&plan.Plan{Changes: []*plan.Change{c}}, nil, lookup)
		n := r.Changes[0].Content()
		for i, k := range n.Children {
			if n.Names[i] == "password" && (k.Op != diff.Opaque || k.Kind != diff.SensitiveNode) {
				t.Errorf("the password %q: %+v", password, k)
			}
		}
		text := fmt.Sprint(r.Changes[0].Reasons)
		if strings.Contains(text, "canary") || !strings.Contains(text, "tags forces the replacement") || !strings.Contains(text, "password forces the replacement") {
			t.Error(text)
		}
	}
}

// TestDrift checks that an outside change of an object is in exactly one of the two lists of drift.
func TestDrift(t *testing.T) {
	a, b := change(t, "test_thing.a", plan.Update, object("i", "p", 1), object("i", "p", 2)), change(t, "test_thing.b", plan.Update, object("i", "p", 1), object("i", "p", 2))
	p := &plan.Plan{Drift: []*plan.Change{a, b}, Relevant: []plan.Relevant{{Resource: a.Object.Abs(), Path: cty.GetAttrPath("size")}}}
	r := New(p, nil, lookup)
	if len(r.Drift) != 1 || r.Drift[0].Address != "test_thing.a" || fmt.Sprint(r.Drift[0].Relevant) != "[size]" || len(r.Rest) != 1 || r.Rest[0].Address != "test_thing.b" {
		t.Errorf("%v, %v", r.Drift, r.Rest)
	}
	p.Mode = plan.RefreshOnly
	if r = New(p, nil, lookup); len(r.Drift) != 2 {
		t.Errorf("refresh-only: %v", r.Drift)
	}
}
