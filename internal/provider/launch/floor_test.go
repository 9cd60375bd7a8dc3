package launch

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// BenchmarkBareStart measures the minimum time to plan 500 objects with a provider whose calls take time. It starts and
// configures the process, sends the calls to plan each object, and ends the process. It needs the provider of
// test/bench (docs/performance.md).
func BenchmarkBareStart(b *testing.B) {
	program := os.Getenv("BENCH_PROVIDER")
	if program == "" {
		b.Skip("BENCH_PROVIDER does not name the program of the measuring kit's provider")
	}
	who, err := addr.ParseProvider("example.com/bench/bench")
	if err != nil {
		b.Fatal(err)
	}
	ps := &Processes{Find: func(addr.Provider) (string, error) { return program, nil }, Silent: true, Version: "1.12.0"}
	for _, workers := range []int{10, 100} {
		b.Run(fmt.Sprintf("parallelism=%d", workers), func(b *testing.B) {
			for b.Loop() {
				p, err := ps.Start(b.Context(), who)
				if err != nil {
					b.Fatal(err)
				}
				planEach(b, p, 500, workers)
				p.Shutdown()
			}
		})
	}
}

// planEach configures a provider and lets it plan the given number of objects.
func planEach(b *testing.B, p provider.Provider, objects, workers int) {
	b.Helper()
	must := func(ds provider.Diags) {
		if ds.HasErrors() {
			b.Error(ds)
		}
	}
	encode := func(v cty.Value, ty cty.Type) provider.Dynamic {
		msgpack, err := schema.Encode(v, ty)
		if err != nil {
			b.Error(err)
		}
		return provider.Dynamic{Msgpack: msgpack}
	}
	schemas, ds := p.Schemas(b.Context())
	must(ds)
	item, err := schemas.Type(addr.Managed, "bench_item")
	if err != nil {
		b.Fatal(err)
	}
	_, ds = p.ValidateConfig(b.Context(), encode(cty.EmptyObjectVal, cty.EmptyObject))
	must(ds)
	must(p.Configure(b.Context(), encode(cty.EmptyObjectVal, cty.EmptyObject), provider.Allow{}))

	none := encode(cty.NullVal(item.Type()), item.Type())
	todo := make(chan int)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range todo {
				attrs := map[string]cty.Value{}
				for name, ty := range item.Type().AttributeTypes() {
					attrs[name] = cty.NullVal(ty)
				}
				attrs["name"] = cty.StringVal(fmt.Sprintf("item-%d", i))
				config := encode(cty.ObjectVal(attrs), item.Type())
				_, ds := p.Plan(b.Context(), provider.PlanRequest{Type: "bench_item", Prior: none, Proposed: config, Config: config})
				must(ds)
			}
		})
	}
	for i := range objects {
		todo <- i
	}
	close(todo)
	wg.Wait()
}
