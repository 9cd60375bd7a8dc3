package file

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// large returns the contents of a plan file whose plan updates n objects with ten attributes each.
func large(n int) *Contents {
	p := &plan.Plan{Origin: plan.Origin{Workspace: "default"}}
	e := (*state.Snapshot)(nil).Edit()
	provider := addr.ProviderInstance{ProviderConfig: addr.ProviderConfig{Provider: addr.Default("bench")}}
	for i := range n {
		attrs := map[string]cty.Value{"id": cty.StringVal(fmt.Sprint("id-", i))}
		for k := range 9 {
			attrs[fmt.Sprint("attribute_", k)] = cty.StringVal(fmt.Sprint("value ", k, " of ", i))
		}
		obj := addr.Instance{Mode: addr.Managed, Type: "bench_thing", Name: "x", Key: addr.IntKey(i)}.Current()
		entry := &state.Entry{Attrs: []byte(fmt.Sprintf(`{"id":"id-%d"}`, i)), Provider: provider}
		e.Put(obj, entry)
		before := cty.ObjectVal(attrs)
		attrs["attribute_0"] = cty.UnknownVal(cty.String)
		p.Changes = append(p.Changes, &plan.Change{Object: obj, Was: obj, Action: plan.Update, Entry: entry, Provider: provider,
			Before: mark.Plain(before), After: mark.Plain(cty.ObjectVal(attrs))})
	}
	p.Refreshed = e.Done()
	p.Previous = p.Refreshed
	return &Contents{Plan: p, Version: "1.12.0"}
}

func BenchmarkWrite(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		c := large(n)
		b.Run(fmt.Sprint("changes=", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var out bytes.Buffer
				if err := Write(&out, c, nil); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(out.Len())/float64(n), "bytes/change")
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		data := write(b, large(n))
		b.Run(fmt.Sprint("changes=", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var bag diag.Bag
				if _, ok := Read("a.plan", data, nil, &bag); !ok {
					b.Fatal(bag.List())
				}
			}
		})
	}
}
