package planning

import (
	"context"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/state"
)

// holders finds the objects of the prior state by their provider instance and their names. A resource that changes to
// another provider instance, such as another region, may find an object of the same name there. If the state has that
// object at another address, it is not the object of the resource.
type holders struct {
	run   *run.Run
	prior *state.Snapshot

	once sync.Once
	by   map[holder]addr.Object
}

// holder is a name of an object in a provider instance.
type holder struct {
	in   addr.ProviderInstance
	kind string
	name name
}

// another reports whether the object with the entry e, which the provider instance in has found for the address o, is an
// object of the prior state at another address, and stays in this provider instance.
func (h *holders) another(ctx context.Context, o addr.Object, in addr.ProviderInstance, e *state.Entry) bool {
	h.once.Do(func() {
		h.by = map[holder]addr.Object{}
		for o, e := range h.prior.Objects() {
			if o.Mode == addr.Managed && h.stays(ctx, o, e) {
				for _, n := range namesOf(e) {
					h.by[holderOf(o, e.Provider, n)] = o
				}
			}
		}
	})
	for _, n := range namesOf(e) {
		if to, is := h.by[holderOf(o, in, n)]; is && to != o {
			return true
		}
	}
	return false
}

// stays reports whether a stored object stays in its provider instance or is destroyed there. The current object of a
// resource that has another provider block now does not.
func (h *holders) stays(ctx context.Context, o addr.Object, e *state.Entry) bool {
	d, ok := h.run.Program.Resource(o.Resource())
	if !ok || o.IsDeposed() {
		return true
	}
	_, leaves := h.run.FormerUse(ctx, d, e.Provider)
	return !leaves
}

func holderOf(o addr.Object, in addr.ProviderInstance, n name) holder {
	in.Provider = in.Provider.Canon()
	return holder{in, o.Type, n}
}
