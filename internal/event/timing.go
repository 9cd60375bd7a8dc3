package event

import (
	"context"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
)

// Walk is one walk through a graph: the names of its nodes, and for each node the nodes after which it runs. The name of
// a node without work is empty. A lazy node begins only when another node needs it.
type Walk struct {
	Title        string // "plan", or "apply"
	Names        []string
	After        [][]int32
	Lazy         []bool
	Began, Ended time.Time
}

// Visit identifies a visit of a node, or one of its jobs. Job is -1 for the visit itself. Walk is nil outside a walk.
type Visit struct {
	Walk      *Walk
	Node, Job int
}

// The following events have times. Only a separate sink receives them, because most runs do not need them.
type (
	// Visited reports the end of a visit or a job.
	Visited struct {
		Visit        Visit
		Began, Ended time.Time
		Failed       bool
	}
	// Walked reports the end of a walk.
	Walked struct{ Walk *Walk }
	// Called reports the end of one attempt of a call, or of a provisioner. The call was Wanted until it Began, because
	// as many calls as permitted were in progress.
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
	// Waited reports that a visit has waited for another visit, or for the pause before a repetition.
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

// WithVisit returns a context of a visit.
func WithVisit(ctx context.Context, v Visit) context.Context {
	return context.WithValue(ctx, visitKey{}, v)
}

// VisitOf returns the visit of a context.
func VisitOf(ctx context.Context) Visit {
	v, _ := ctx.Value(visitKey{}).(Visit)
	return v
}

type visitKey struct{}
