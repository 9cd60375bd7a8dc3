package event

import (
	"context"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
)

// Walk describes one execution of the graph of a plan or an apply. Names, After and Lazy have an element for each node:
// its name, the indexes of the nodes that must end before it, and whether it is lazy. A lazy node begins only when
// another node needs it. The name of a node without work is empty.
type Walk struct {
	Title        string // the name of the walk: "plan" or "apply"
	Names        []string
	After        [][]int32
	Lazy         []bool
	Began, Ended time.Time
}

// Visit identifies a visit of a node of a walk, or one of the jobs of the visit. Job is -1 for the visit itself. Walk
// is nil for a call outside a walk.
type Visit struct {
	Walk      *Walk
	Node, Job int
}

// The following events contain times. Only the sink that records the times of a run (timing.Recorder) receives them,
// because most runs do not need times.
type (
	// Visited reports the end of a visit of a node, or of one of its jobs.
	Visited struct {
		Visit        Visit
		Began, Ended time.Time
		Failed       bool
	}
	// Walked reports the end of a walk.
	Walked struct{ Walk *Walk }
	// Called reports the end of one attempt to call a provider, or the end of a provisioner. Wanted is the time when
	// the call was ready. From Wanted to Began, the call waited because the maximum number of calls (-parallelism) was
	// in progress.
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
	// Waited reports that a visit has waited for another visit, or for the pause before the repetition of a failed
	// call. For is the text of the reason.
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

// WithVisit returns a context that carries the visit v, so that calls made with the context can name their visit.
func WithVisit(ctx context.Context, v Visit) context.Context {
	return context.WithValue(ctx, visitKey{}, v)
}

// VisitOf returns the visit that a context carries, or the zero value.
func VisitOf(ctx context.Context) Visit {
	v, _ := ctx.Value(visitKey{}).(Visit)
	return v
}

type visitKey struct{}
