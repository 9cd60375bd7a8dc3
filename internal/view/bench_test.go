package view

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// largePlan returns a plan with n changes of several kinds.
func largePlan(t testing.TB, n int) *plan.Plan {
	e := (&state.Snapshot{}).Edit()
	p := &plan.Plan{Complete: true}
	for i := range n {
		old := testObject(attrs{"id": str(fmt.Sprint("i-", i)), "size": num(int64(i)), "tags": cty.MapVal(map[string]cty.Value{"a": str("b"), "name": str(fmt.Sprint(i))}), "items": cty.ListVal(many(0, 10))})
		made := testObject(attrs{"id": unknownString, "size": num(int64(i + 1)), "tags": cty.MapVal(map[string]cty.Value{"a": str("c")}), "items": cty.ListVal(many(1, 12)), "any": str(`{"a":[1,2,3]}`)})
		o := addr.Instance{Mode: addr.Managed, Type: "test_thing", Name: "x", Key: addr.IntKey(i)}.Current()
		c := &plan.Change{Object: o, Was: o, Action: plan.Action([]plan.Action{plan.Create, plan.Update, plan.Delete}[i%3]), Before: old, After: made}
		switch c.Action {
		case plan.Create:
			c.Before = nothing
		case plan.Delete:
			c.After = nothing
		}
		c.Provider.Provider = testProvider
		p.Changes = append(p.Changes, c)
		b, err := testBlock.EncodeJSON(old.Raw)
		if err != nil {
			t.Fatal(err)
		}
		entry := &state.Entry{Schema: 3, Attrs: b}
		entry.Provider.Provider = testProvider
		e.Put(o, entry)
	}
	p.Refreshed = e.Done()
	return p
}

func BenchmarkPlanText15000(b *testing.B) {
	p := largePlan(b, 15000)
	b.ReportAllocs()
	for b.Loop() {
		PlanText(io.Discard, p, newTestSchemas(), Options{})
	}
}

func BenchmarkPlanJSON15000(b *testing.B) {
	p := largePlan(b, 15000)
	b.ReportAllocs()
	for b.Loop() {
		if err := WritePlanJSON(io.Discard, p, nil, newTestSchemas(), nil, "1.12.0"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStateJSON15000(b *testing.B) {
	p := largePlan(b, 15000)
	b.ReportAllocs()
	for b.Loop() {
		if err := WriteStateJSON(io.Discard, p.Refreshed, newTestSchemas(), "1.12.0"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStream15000(b *testing.B) {
	p := largePlan(b, 15000)
	for b.Loop() {
		j := NewJSON(io.Discard, "1.12.0", Options{})
		j.Plan(p, PlanOptions{})
		j.Finish()
	}
}

// TestPlansAreStreamed checks that the memory that PlanText and WritePlanJSON use does not grow with the plan.
func TestPlansAreStreamed(t *testing.T) {
	p := largePlan(t, 4000)
	var peak, writes int
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	w := writerFunc(func(s string) {
		peak = max(peak, len(s))
		if writes++; writes%400 == 0 {
			runtime.GC()
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			if grown := int64(now.HeapAlloc) - int64(before.HeapAlloc); grown > 4<<20 {
				t.Fatalf("%d bytes are held after %d writes", grown, writes)
			}
		}
	})
	PlanText(w, p, newTestSchemas(), Options{})
	writes = 0
	if err := WritePlanJSON(w, p, nil, newTestSchemas(), nil, "1.12.0"); err != nil {
		t.Fatal(err)
	}
	if peak > 1<<16 {
		t.Errorf("%d bytes in one write", peak)
	}
	var text bytes.Buffer
	PlanText(&text, largePlan(t, 3), newTestSchemas(), Options{})
	checkGolden(t, "plans/large.txt", text.String())
}
