package event

import (
	"context"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
)

// Walk describes one walk through a graph. Names has the names of the nodes, and After, for each node, the nodes that
// must end before it. The name of a node without work is empty. A lazy node begins only when another node needs it.
type Walk struct {
	Title        string // "plan", or "apply"
	Names        []string
	After        [][]int32
	Lazy         []bool
	Began, Ended time.Time
}

// Visit identifies a visit of a node of a walk, or one of the jobs of the visit. Job is -1 for the visit itself. Walk
// is nil outside a walk.
type Visit struct {
	Walk      *Walk
	Node, Job int
}

// The following events contain times. Only the sink for the timing of a run receives them, because most runs do not
// need them.
type (
	// Visited reports the end of a visit or a job.
	Visited struct {
		Visit        Visit
		Began, Ended time.Time
		Failed       bool
	}
	// Walked reports the end of a walk.
	Walked struct{ Walk *Walk }
	// Called reports the end of one attempt of a call, or of a provisioner. Wanted is the time when the call was ready.
	// It had to wait until Began while the permitted number of calls was in progress.
	Called struct {
		Visit                Visit
		Object               addr.Object
		Call                 Call
		Wanted, Began, Ended time.Time
	}
	// Configured reports that a visit has started and configured a provider.
	Configured struct {
		Visit        Visit
		Provider     addr.ProviderInstance
		Began, Ended time.Time
	}
	// Waited reports that a visit has waited for another visit, or for the pause before a repetition. For names the
	// reason.
	Waited struct {
		Visit        Visit
		For          string
		Began, Ended time.Time
	}
)

func (Visited) event()    {}
func (Walked) event()     {}
func (Called) event()     {}
func (Configured) event() {}
func (Waited) event()     {}

// WithVisit returns a context that carries a visit.
func WithVisit(ctx context.Context, v Visit) context.Context {
	return context.WithValue(ctx, visitKey{}, v)
}

// VisitOf returns the visit that a context carries, or the zero value.
func VisitOf(ctx context.Context) Visit {
	v, _ := ctx.Value(visitKey{}).(Visit)
	return v
}

type visitKey struct{}
