package run

import (
	"context"
	"runtime"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/shortcut"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
)

// Settings are the settings for all runs of one command. They do not change during the command.
type Settings struct {
	Pool        *provider.Pool
	Sink        event.Sink
	Times       event.Sink // receives the events with times; nil: no such events are made
	Secrets     *secret.Set
	Parallelism int          // maximum number of concurrent calls to providers; 0: 10
	Closed      shortcut.Set // the optimizations that are turned off
	Now         func() time.Time
	ForgetData  state.Forgetting // which results of data sources are excluded from states and plan files

	Timeouts     Timeouts
	Shutdown     Shutdown
	Provisioners Programs
	Providers    Providers
	HostNames    HostNames

	// Leases records the open ephemeral resources in the journal of an apply, so that they can be closed after a crash.
	// nil means that they are not recorded.
	Leases journal.Leases

	// Rounds has the ephemeral resources that stay open between the rounds of a command. A round is one plan and its
	// apply (ADR 52). nil means that each walk (plan or apply) closes its ephemeral resources.
	Rounds *Rounds

	// Unanswered has texts for errors about calls that the provider did not answer. nil means object.FollowedByPlan: a
	// later plan reads the object again.
	Unanswered object.Advice

	// Supply adds missing provider settings to a program before the program is checked against the schemas of its
	// providers. added reports whether Supply added a setting. ok is false if the user interrupted Supply; then the
	// walk does not start. nil means that no user can be asked.
	Supply func(p *program.Program, schemas provider.Lookup) (added, ok bool)
}

// Timeouts are the time limits of calls to ephemeral resources, and of the request to stop a provider.
type Timeouts struct {
	Close time.Duration // the limit for closing one ephemeral resource; 0: a minute
	Renew time.Duration // the limit for renewing one ephemeral resource; 0: a minute
	Stop  time.Duration // the limit for the answer of a provider to the request to stop; 0: a second
}

// Shutdown has the contexts that end the waiting of an interrupted run. The context of the run ends first: no new work
// starts, and providers and provisioners are asked to stop. Abandon ends later, and Leave after that. If Abandon or
// Leave is nil, it never ends.
type Shutdown struct {
	// When Abandon ends, the run stops waiting for all calls except calls that close ephemeral resources.
	Abandon context.Context
	// When Leave ends, the run stops waiting for calls that close ephemeral resources.
	Leave context.Context
}

// Programs has the working directory and the environment of the programs that provisioners run.
type Programs struct {
	Dir string   // "": the working directory of the process
	Env []string // nil: the environment of the process
}

// Providers are the settings for the use of providers.
type Providers struct {
	// Absent has the providers that cannot start. The caller has reported the reason.
	Absent map[addr.Provider]bool
	// Substitutes replaces providers by mocks in test runs. nil means that no provider is replaced.
	Substitutes provider.Substitutes
	// Echoes reports whether a provider returns its settings in its answers. Developers attach such providers to a run
	// to inspect their answers. nil means that no provider does.
	Echoes func(addr.Provider) bool
	// Retries has the user's policy for repeating failed calls, by provider.
	Retries provider.Retries
	// KeepSessions keeps each configured process for later walks of the command, if its settings are known and not
	// ephemeral. If it is false, a plan keeps the processes for its apply, and an apply ends them. A walk that ends
	// with errors or after an interrupt ends the processes that it still has, in both cases.
	KeepSessions bool
}

// HostNames are the settings for the registry hosts of providers.
type HostNames struct {
	// Attached returns a provider with the registry host under which the user attached the provider, and false if the
	// user did not attach it. nil means that no provider is attached.
	Attached func(addr.Provider) (addr.Provider, bool)
	// Default is the host of a provider for which neither the configuration nor the state nor the user determines a
	// host. "" means the host in the provider's address.
	Default string
}

// Tokens returns the maximum number of concurrent calls to providers.
func (s *Settings) Tokens() int {
	if s.Parallelism > 0 {
		return s.Parallelism
	}
	return 10
}

// Workers returns the maximum number of concurrent nodes. It is greater than the number of tokens (permissions for one
// provider call), because a node has a token only during a call.
func (s *Settings) Workers() int { return s.Tokens() + runtime.GOMAXPROCS(0) }

// Send sends an event to the sink.
func (s *Settings) Send(ev event.Event) {
	if s.Sink != nil {
		s.Sink.Send(ev)
	}
}
