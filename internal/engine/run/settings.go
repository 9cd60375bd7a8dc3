package run

import (
	"context"
	"runtime"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/shortcut"
	"github.com/lethe-iac/lethe/internal/state/journal"
)

// Settings are what the caller sets for all runs of one command. They are not changed while one goes on.
type Settings struct {
	Pool        *provider.Pool
	Sink        event.Sink
	Secrets     *secret.Set
	Parallelism int          // calls that may touch an API at once; 0: 10
	Closed      shortcut.Set // what is not to be taken
	Now         func() time.Time

	CloseTimeout time.Duration // for closing one lease; 0: a minute
	RenewTimeout time.Duration // for renewing one; 0: a minute
	StopTimeout  time.Duration // for a provider to say that it will give up what it is doing; 0: a second

	// Provisioners run in Dir ("": the process's) with the environment Env (nil: the process's).
	Dir string
	Env []string

	// When the context of a run ends, nothing more is started, and providers and provisioners are
	// asked to give up. When Abandon ends, nothing waits for a call any more but for those that
	// close leases, and for these no longer than until Leave ends. nil: never.
	Abandon, Leave context.Context

	// Leases takes note of what is open, for the case that the process is lost. nil: no note is taken.
	Leases journal.Leases

	// Tested says which providers a test program runs: to see what they do, and some to see what
	// they are configured with. nil: none.
	Tested func(addr.Provider) bool

	// Named gives a provider the registry host under which the user attached it, false if that was not done; nil:
	// none was attached.
	Named func(addr.Provider) (addr.Provider, bool)

	// Host is the registry host of providers for which nothing else says one. "": of their address.
	Host string

	// Absent are the providers that are not to be started; that, or why, was reported.
	Absent map[addr.Provider]bool

	// Doubles stand in for providers, in tests; nil: nothing does.
	Doubles Doubles
	// KeepSessions keeps processes that were configured with what is plain and known for all later walks of the command,
	// also those of an apply.
	KeepSessions bool

	// Supply adds what the provider blocks of a program lack, before it is held against its
	// providers' schemas, and reports whether it added anything. nil: there is no user to ask.
	Supply func(p *program.Program, schemas provider.Lookup) (added, ok bool)
}

// Doubles stand in for providers. Their methods are called from many goroutines.
type Doubles interface {
	// Provider is what answers for a provider configuration; nil: the provider itself.
	Provider(config addr.ProviderInstance) provider.Provider
	// Object is what answers for one object of a provider, mostly p itself.
	Object(i addr.Instance, p provider.Provider) provider.Provider
}

// Tokens is how many calls that may touch an API are made at once.
func (s *Settings) Tokens() int {
	if s.Parallelism > 0 {
		return s.Parallelism
	}
	return 10
}

// Workers is how many nodes run at once: more than the tokens, because a node holds a token only
// around a call.
func (s *Settings) Workers() int { return s.Tokens() + runtime.GOMAXPROCS(0) }

// Tell passes an event on.
func (s *Settings) Tell(ev event.Event) {
	if s.Sink != nil {
		s.Sink.Tell(ev)
	}
}
