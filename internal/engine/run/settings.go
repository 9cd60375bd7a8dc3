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
	ForgetData  state.Forgetting // which results of data sources no state and no plan file contains

	Timeouts     Timeouts
	Shutdown     Shutdown
	Provisioners Programs
	Providers    Providers
	HostNames    HostNames

	// Leases records the open leases in the journal, so that they can be closed after a crash. nil means that they are
	// not recorded.
	Leases journal.Leases

	// Rounds has the leases that stay open between the rounds of a command: plans, each with its apply (ADR 52). nil
	// means that each walk closes its leases.
	Rounds *Rounds

	// Unanswered returns advice about a call that the provider did not answer. nil means that a later plan reads the
	// object.
	Unanswered object.Advice

	// Supply adds missing provider settings to a program before the program is checked against the schemas of its
	// providers. added reports whether Supply added any. ok is false if it was interrupted; the program is then not
	// run. nil means that no user can be asked.
	Supply func(p *program.Program, schemas provider.Lookup) (added, ok bool)
}

// Timeouts are the limits of calls for which the run waits at its end.
type Timeouts struct {
	Close time.Duration // the limit for closing one lease; 0: a minute
	Renew time.Duration // the limit for renewing one lease; 0: a minute
	Stop  time.Duration // until a provider confirms that it will stop; 0: a second
}

// Shutdown has the contexts that end the waiting of an interrupted run. The context of the run ends first: no new work
// starts, and providers and provisioners are asked to stop. Abandon ends later, and Leave after that. nil means never.
type Shutdown struct {
	// Abandon ends the waiting for all calls except calls that close leases.
	Abandon context.Context
	// Leave ends the waiting for calls that close leases.
	Leave context.Context
}

// Programs has the environment of the programs that provisioners run.
type Programs struct {
	Dir string   // "": the working directory of the process
	Env []string // nil: the environment of the process
}

// Providers are the settings for the use of providers.
type Providers struct {
	// Absent has the providers that cannot start. The reason was reported before.
	Absent map[addr.Provider]bool
	// Substitutes replaces providers for tests. nil means that no provider is replaced.
	Substitutes provider.Substitutes
	// Echoes reports whether a provider returns its settings in its answers. Developers attach such providers to a run
	// to inspect their answers. nil means that no provider does.
	Echoes func(addr.Provider) bool
	// Retries are the policies for calls that fail only for a time.
	Retries provider.Retries
	// KeepSessions keeps each configured process for later walks of the command, if its settings are known and not
	// ephemeral. If it is false, a plan keeps the processes for its apply, and an apply ends them.
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

// Workers returns the maximum number of concurrent nodes. It is greater than the number of tokens, because a node holds
// a token only during a call.
func (s *Settings) Workers() int { return s.Tokens() + runtime.GOMAXPROCS(0) }

// Send sends an event to the sink.
func (s *Settings) Send(ev event.Event) {
	if s.Sink != nil {
		s.Sink.Send(ev)
	}
}
