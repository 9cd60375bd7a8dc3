package suite

import (
	"context"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// leaseLog records how often each lease (ephemeral resource) of a run was opened, renewed and closed, and its value. It
// covers planning and applying together. The values are in memory until the assertions of the run were evaluated, and
// are stored nowhere else.
type leaseLog struct {
	now func() time.Time
	mu  sync.Mutex
	of  map[addr.Instance]*leaseRecord
}

type leaseRecord struct {
	opened, renewed, closed int
	since                   time.Time     // the time of the last opening
	longest                 time.Duration // the longest time from opening to closing
	value                   cty.Value     // the last value; NilVal before the first
}

// record calls f with the record of an instance, which it creates if necessary.
func (l *leaseLog) record(i addr.Instance, f func(*leaseRecord)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.of[i]
	if r == nil {
		r = &leaseRecord{}
		l.of[i] = r
	}
	f(r)
}

// watched is the provider of a lease. It records the calls for this lease in log.
type watched struct {
	provider.Provider
	of  addr.Instance
	log *leaseLog
}

// Open opens the lease and records its value, also if the provider reports an error but may have opened the lease.
func (w *watched) Open(ctx context.Context, req provider.OpenRequest) (provider.OpenResponse, provider.Diags) {
	resp, ds := w.Provider.Open(ctx, req)
	if ds.HasErrors() && resp.Private == nil {
		return resp, ds
	}
	value := cty.NilVal
	if schemas, _ := w.Schemas(ctx); schemas != nil {
		if s, err := schemas.Usable(addr.Ephemeral, req.Type); err == nil && s != nil {
			value = decoded(s, resp.Result)
		}
	}
	w.log.record(w.of, func(r *leaseRecord) {
		r.opened++
		r.since, r.value = w.log.now(), value
	})
	return resp, ds
}

// decoded returns the value of a lease, or NilVal if it cannot be decoded. In this case, the engine reports the error.
func decoded(s *schema.Schema, d provider.Dynamic) cty.Value {
	v, err := d.Decode(s)
	if err != nil {
		return cty.NilVal
	}
	return v
}

// Renew renews the lease and counts the renewals.
func (w *watched) Renew(ctx context.Context, typ string, private []byte) (provider.RenewResponse, provider.Diags) {
	resp, ds := w.Provider.Renew(ctx, typ, private)
	if !ds.HasErrors() {
		w.log.record(w.of, func(r *leaseRecord) { r.renewed++ })
	}
	return resp, ds
}

// CloseLease closes the lease and records how long it was open.
func (w *watched) CloseLease(ctx context.Context, typ string, private []byte) provider.Diags {
	ds := w.Provider.CloseLease(ctx, typ, private)
	if !ds.HasErrors() {
		w.log.record(w.of, func(r *leaseRecord) {
			r.closed++
			r.longest = max(r.longest, w.log.now().Sub(r.since))
		})
	}
	return ds
}

// lend puts the recorded values of leases into a frame, so that assertions can use these values although the leases are
// closed.
func (l *leaseLog) lend(to look) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, r := range l.of {
		d, ok := to.frame.Program().Resource(i.Resource())
		f := to.frame.At(i.Module, to.face)
		if ok && f != nil && r.value != cty.NilVal {
			f.Put(d.ID, i.Key, to.face, mark.Plain(r.value))
		}
	}
}

// object returns the object that assertions use as lease: lease.ephemeral.TYPE.NAME, with a key if the resource is
// repeated. It contains the leases of the root module only.
func (l *leaseLog) object(p *program.Program) cty.Value {
	l.mu.Lock()
	defer l.mu.Unlock()
	types := map[string]map[string]cty.Value{}
	for _, d := range p.Decls() {
		if d.Kind != program.Resource || d.Resource.Mode != addr.Ephemeral || !d.Module.IsRoot() {
			continue
		}
		if types[d.Resource.Type] == nil {
			types[d.Resource.Type] = map[string]cty.Value{}
		}
		types[d.Resource.Type][d.Resource.Name] = l.instances(d)
	}
	out := map[string]cty.Value{}
	for typ, names := range types {
		out[typ] = cty.ObjectVal(names)
	}
	return cty.ObjectVal(map[string]cty.Value{"ephemeral": cty.ObjectVal(out)})
}

// instances returns the record of a resource. If the resource is repeated, it returns a map of the records of its
// opened instances.
func (l *leaseLog) instances(d *program.Declaration) cty.Value {
	if r := d.Repeat(); r == program.Once || r == program.Enabled {
		return l.of[d.Resource.In(addr.ModuleInstance{}).Instance(addr.NoKey)].object()
	}
	out := map[string]cty.Value{}
	for i, r := range l.of {
		if i.Module.IsRoot() && i.Resource() == d.Resource {
			key, _ := i.Key.Str()
			if n, is := i.Key.Int(); is {
				key = cty.NumberIntVal(int64(n)).AsBigFloat().String()
			}
			out[key] = r.object()
		}
	}
	if len(out) == 0 {
		return cty.MapValEmpty((*leaseRecord)(nil).object().Type())
	}
	return cty.MapVal(out)
}

func (r *leaseRecord) object() cty.Value {
	if r == nil {
		r = &leaseRecord{}
	}
	return cty.ObjectVal(map[string]cty.Value{
		"opened": cty.NumberIntVal(int64(r.opened)), "renewed": cty.NumberIntVal(int64(r.renewed)), "closed": cty.NumberIntVal(int64(r.closed)),
		"open_for": cty.NumberFloatVal(r.longest.Seconds()),
	})
}
