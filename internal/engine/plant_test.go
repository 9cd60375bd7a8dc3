package engine

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/providertest"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// plant launches providers in this process and counts their calls. The providers have settings (region, token), the
// managed types plant_item and plant_safe (with a write-only argument), and the ephemeral type plant_key.
type plant struct {
	mu      sync.Mutex
	running map[*machine]bool // the processes that have not ended
	starts  int               // the number of starts of processes since the last call of calls
	upgrade map[string][]byte // the MessagePack of each stored object, by the JSON of the object
	private []byte            // private data in the answer to each plan; nil: the prior private data
	renewAt time.Time         // first renewal time of leases (ephemeral resources)

	opened, closed atomic.Int64 // numbers of opened and closed leases

	counts [len(machineCalls)]atomic.Int64 // the numbers of provider calls since the last call of calls, by the index in machineCalls
}

var machineCalls = [...]string{"validate", "upgrade", "read", "plan", "apply", "configure"}

const (
	onValidate = iota
	onUpgrade
	onRead
	onPlan
	onApply
	onConfigure
)

// calls returns the numbers of calls since the last call of calls, by kind. It omits zeros.
func (p *plant) calls() map[string]int {
	out := map[string]int{}
	for i, name := range machineCalls {
		if n := p.counts[i].Swap(0); n > 0 {
			out[name] = int(n)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.starts > 0 {
		out["start"] = p.starts
	}
	p.starts = 0
	return out
}

// alive returns the number of running processes.
func (p *plant) alive() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.running)
}

func (p *plant) Start(_ context.Context, a addr.Provider) (provider.Provider, error) {
	m := &machine{plant: p}
	m.Fake = &providertest.Fake{Address: a, Describe: describePlant, Ends: providertest.Ends{OnShutdown: func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.running, m)
		return nil
	}}}
	m.Fake.OnConfigure = func(context.Context, provider.Dynamic, provider.Allow) provider.Diags {
		p.counts[onConfigure].Add(1)
		return nil
	}
	m.Fake.OnOpen = func(_ context.Context, r provider.OpenRequest) (provider.OpenResponse, provider.Diags) {
		p.opened.Add(1)
		return provider.OpenResponse{Result: r.Config, RenewAt: p.renewAt}, nil
	}
	m.Fake.OnCloseLease = func(context.Context, string, []byte) provider.Diags {
		p.closed.Add(1)
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.starts++
	p.running[m] = true
	return m, nil
}

var (
	itemBlock = &schema.Block{Attrs: []*schema.Attr{
		{Name: "extra", Type: cty.Map(cty.String), Optional: true},
		{Name: "id", Type: cty.String, Computed: true},
		{Name: "name", Type: cty.String, Required: true},
		{Name: "secret", Type: cty.String, Optional: true, WriteOnly: true},
		{Name: "value", Type: cty.String, Computed: true},
	}}
	keyBlock = &schema.Block{Attrs: []*schema.Attr{
		{Name: "token", Type: cty.String, Optional: true},
	}}
	// plainBlock is itemBlock without its write-only attribute.
	plainBlock = &schema.Block{Attrs: append(append([]*schema.Attr(nil), itemBlock.Attrs[:3]...), itemBlock.Attrs[4])}
)

func describePlant() (*provider.Schemas, provider.Diags) {
	s := provider.NewSchemas(&schema.Schema{Block: &schema.Block{Attrs: []*schema.Attr{
		{Name: "region", Type: cty.String, Optional: true},
		{Name: "token", Type: cty.String, Optional: true},
	}}})
	add := func(m addr.Mode, name string, b *schema.Block) {
		s.Add(m, name, func() (*schema.Schema, error) { return &schema.Schema{Block: b}, nil })
	}
	s.Capabilities.PlanDestroy = true
	add(addr.Managed, "plant_item", plainBlock)
	add(addr.Managed, "plant_safe", itemBlock)
	add(addr.Ephemeral, "plant_key", keyBlock)
	return s, nil
}

// machine is one process of the provider of a plant.
type machine struct {
	*providertest.Fake
	plant *plant
}

func (m *machine) Validate(context.Context, addr.Mode, string, provider.Dynamic) provider.Diags {
	m.plant.counts[onValidate].Add(1)
	return nil
}

func (m *machine) Upgrade(_ context.Context, r provider.UpgradeRequest) (provider.UpgradeResponse, provider.Diags) {
	m.plant.counts[onUpgrade].Add(1)
	m.plant.mu.Lock()
	defer m.plant.mu.Unlock()
	wire, ok := m.plant.upgrade[string(r.JSON)]
	if !ok {
		s := &schema.Schema{Block: plainBlock}
		if r.Type == "plant_safe" {
			s.Block = itemBlock
		}
		v, err := s.DecodeJSON(r.JSON)
		if err != nil {
			panic(err)
		}
		wire, _ = s.Encode(v)
		m.plant.upgrade[string(r.JSON)] = wire
	}
	return provider.UpgradeResponse{State: provider.Dynamic{Msgpack: wire}}, nil
}

func (m *machine) Read(_ context.Context, r provider.ReadRequest) (provider.ReadResponse, provider.Diags) {
	m.plant.counts[onRead].Add(1)
	return provider.ReadResponse{State: r.State, Private: r.Private}, nil
}

// Plan plans computed attributes of a new object as unknown. It handles the MessagePack directly, so that benchmarks
// measure the engine and not the provider.
func (m *machine) Plan(_ context.Context, r provider.PlanRequest) (provider.PlanResponse, provider.Diags) {
	m.plant.counts[onPlan].Add(1)
	private := r.Private
	if m.plant.private != nil {
		private = m.plant.private
	}
	planned := r.Proposed.Msgpack
	if r.Type == "plant_safe" && len(planned) > 1 {
		s := &schema.Schema{Block: itemBlock}
		v, err := s.Decode(planned)
		if err != nil {
			panic(err)
		}
		planned, _ = s.Encode(s.NullWriteOnly(v))
	}
	if len(r.Prior.Msgpack) == 1 {
		planned = bytes.Replace(planned, []byte("\xa2id\xc0"), []byte("\xa2id\xd4\x00\x00"), 1)
		planned = bytes.Replace(planned, []byte("\xa5value\xc0"), []byte("\xa5value\xd4\x00\x00"), 1)
	}
	return provider.PlanResponse{Planned: provider.Dynamic{Msgpack: planned}, Private: private}, nil
}

// Apply makes every value known: it replaces unknown values in the MessagePack by a string.
func (m *machine) Apply(_ context.Context, r provider.ApplyRequest) (provider.ApplyResponse, provider.Diags) {
	m.plant.counts[onApply].Add(1)
	made := bytes.ReplaceAll(r.Planned.Msgpack, []byte{0xd4, 0, 0}, []byte("\xa4made"))
	return provider.ApplyResponse{State: provider.Dynamic{Msgpack: made}, Private: r.Private}, nil
}

// newPlantWorld returns a world whose provider is a plant.
func newPlantWorld(t testing.TB) (*world, *plant) {
	p := &plant{running: map[*machine]bool{}, upgrade: map[string][]byte{}}
	pool := provider.NewPool(p)
	t.Cleanup(func() {
		pool.Close()
		if n := p.alive(); n > 0 {
			t.Errorf("%d processes are left over", n)
		}
	})
	return &world{t: t, engine: &Engine{Settings: Settings{Pool: pool, Now: time.Now}}, state: &state.Snapshot{}}, p
}

const plantHead = `
terraform {
  required_providers {
    plant = { source = "acme/plant" }
  }
}
`

func expect(t testing.TB, what string, got map[string]int, want string) {
	t.Helper()
	var text string
	for _, name := range append([]string{"start"}, machineCalls[:]...) {
		if n := got[name]; n > 0 {
			text += fmt.Sprintf("%s %d, ", name, n)
		}
	}
	if text = text[:max(len(text)-2, 0)]; text != want {
		t.Errorf("%s: %s; want %s", what, text, want)
	}
}
