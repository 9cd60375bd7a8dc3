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

// Settings are the settings for all runs of one command. They do not change during a run.
type Settings struct {
	Pool        *provider.Pool
	Sink        event.Sink
	Times       event.Sink // receives the events with times; nil: they are not made
	Secrets     *secret.Set
	Parallelism int          // maximum number of concurrent calls to providers; 0: 10
	Closed      shortcut.Set // disabled shortcuts
	Now         func() time.Time
	ForgetData  state.Forgetting // results of data sources that no state and no plan file contains

	Timeouts     Timeouts
	Shutdown     Shutdown
	Provisioners Programs
	Providers    Providers
	HostNames    HostNames

	// Leases records the open leases, so that they can be closed after a crash. nil: they are not recorded.
	Leases journal.Leases

	// Rounds has the leases that stay open between rounds. nil: each walk closes its leases.
	Rounds *Rounds

	// Unanswered explains calls that no provider answered; nil: a later plan reads the state.
	Unanswered object.Advice

	// Supply adds missing provider settings to a program before the check against its providers' schemas. added reports
	// whether it added any. nil: no user can be asked.
	Supply func(p *program.Program, schemas provider.Lookup) (added, ok bool)
}

// Timeouts are the limits of calls for whose end the run waits.
type Timeouts struct {
	Close time.Duration // of one lease; 0: a minute
	Renew time.Duration // of one lease; 0: a minute
	Stop  time.Duration // until a provider confirms that it will stop; 0: a second
}

// Shutdown ends the waiting of an interrupted run. The context of a run ends first: no new work starts, and providers
// and provisioners are asked to stop. The contexts here end later, in this order. nil: never.
type Shutdown struct {
	// Abandon ends the waiting for all calls except calls that close leases.
	Abandon context.Context
	// Leave ends the waiting for calls that close leases.
	Leave context.Context
}

// Programs is the environment of programs that provisioners run.
type Programs struct {
	Dir string   // "": the working directory of the process
	Env []string // nil: the environment of the process
}

// Providers are the settings for the use of providers.
type Providers struct {
	// Absent are the providers that cannot start. The reason was already reported.
	Absent map[addr.Provider]bool
	// Substitutes replace providers; nil: no provider is replaced.
	Substitutes provider.Substitutes
	// Echoes reports whether a provider may exist to echo its settings. Developers attach such providers to a run and
	// inspect their answers. nil: no provider does.
	Echoes func(addr.Provider) bool
	// Retries are the policies for calls that fail for a time.
	Retries provider.Retries
	// KeepSessions keeps all processes with known settings that are not ephemeral, for later walks of the command. If
	// it is false, a plan keeps them for its apply, and an apply ends them.
	KeepSessions bool
}

// HostNames are the settings for the registry hosts of providers.
type HostNames struct {
	// Attached returns a provider with the registry host under which the user attached it, and false if the user did
	// not attach it. nil: no provider is attached.
	Attached func(addr.Provider) (addr.Provider, bool)
	// Default is the host of providers whose host the configuration, the state and the user do not determine. "": the
	// host of their address.
	Default string
}

// Tokens returns the maximum number of concurrent calls to providers.
func (s *Settings) Tokens() int {
	if s.Parallelism > 0 {
		return s.Parallelism
	}
	return 10
}

// Workers returns the maximum number of concurrent nodes. It exceeds the number of tokens, because a node holds a token
// only during a call.
func (s *Settings) Workers() int { return s.Tokens() + runtime.GOMAXPROCS(0) }

// Send sends an event to the sink.
func (s *Settings) Send(ev event.Event) {
	if s.Sink != nil {
		s.Sink.Send(ev)
	}
}
