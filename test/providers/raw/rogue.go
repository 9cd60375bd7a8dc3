// Package raw is a provider that misbehaves on demand: it crashes, hangs,
// lies, leaks and babbles wherever a test tells it to. It is written directly
// on terraform-plugin-go, because the libraries above that keep a provider
// from doing most of what this one does.
//
// Left alone it is well behaved: it plans, applies, reads and leases like the
// other playground providers, keeps its objects in the same cloud and writes
// its calls to the same log. What it should do wrong is said by rules (rules.go)
// in the environment or in the attribute misbehave of an object; what
// it can do wrong is in deeds.go, before and while it answers, and in
// start.go, before it can be called at all. The README lists every deed.
//
// It speaks protocol 6, and protocol 5 through a downgrade.
package raw

import (
	"context"
	"sync"

	"github.com/hashicorp/terraform-plugin-go/tfprotov5"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/hashicorp/terraform-plugin-mux/tf6to5server"

	"github.com/lethe-iac/lethe/test/providers/calls"
)

// Environment variables that this package reads, beside those of calls and cloud.
const (
	EnvRules    = "PLAYGROUND_ROGUE"          // what to do wrong, see rules.go
	EnvStart    = "PLAYGROUND_ROGUE_START"    // what to do wrong before serving, see start.go
	EnvProtocol = "PLAYGROUND_ROGUE_PROTOCOL" // "5" to serve protocol 5
	EnvSchema   = "PLAYGROUND_ROGUE_SCHEMA"   // faulty types to offer, see schema.go
)

// Server6 returns the provider as it is served over protocol 6.
func Server6(book *calls.Book) func() tfprotov6.ProviderServer {
	r := newRogue(6)
	return func() tfprotov6.ProviderServer { return calls.Server6(book, r) }
}

// Server5 returns the provider as it is served over protocol 5, which has no nested attributes.
func Server5(ctx context.Context, book *calls.Book) (func() tfprotov5.ProviderServer, error) {
	r := newRogue(5)
	down, err := tf6to5server.DowngradeServer(ctx, func() tfprotov6.ProviderServer { return r })
	if err != nil {
		return nil, err
	}
	return func() tfprotov5.ProviderServer { return calls.Server5(book, down) }, nil
}

// rogue is the provider. Its methods are in the files provider.go, resource.go and ephemeral.go.
type rogue struct {
	schemas schemas
	broken  error // why the rules cannot be read

	mu    sync.Mutex
	rules []rule // from the environment, and from the configuration of the provider
	label string
}

func newRogue(protocol int) *rogue {
	rules, err := environment()
	return &rogue{schemas: all(protocol), rules: rules, broken: err}
}

// A scene is one call as mischief sees it: what it is about, and pointers into
// the answer, nil where this kind of answer has no such part.
type scene struct {
	names  []string // how a rule may name the call, longest first
	key    string   // name or id of the object
	spec   string   // the object's own rules
	secret string   // a secret that this call was given, or made up

	config tftypes.Value // what was configured, if this call knows
	typ    tftypes.Type  // type of *value

	value    **tfprotov6.DynamicValue
	identity **tfprotov6.ResourceIdentityData
	private  *[]byte
	diags    *[]*tfprotov6.Diagnostic
	deferred **tfprotov6.Deferred
	rest     any // the whole answer, for deeds that only one kind of answer knows
}

// play answers one call: mischief that comes before the work, the work, mischief with its answer.
// The work fills in the scene's pointers.
func play[A any](ctx context.Context, r *rogue, sc *scene, work func() (*A, error)) (*A, error) {
	if r.broken != nil {
		return nil, r.broken
	}
	deeds, err := r.deeds(sc)
	if err != nil {
		return nil, err
	}
	for _, d := range deeds {
		if f := early[d.name]; f != nil {
			if err := f(ctx, sc, d.arg); err != nil {
				return nil, err
			}
		}
	}
	a, err := work()
	if err != nil {
		return nil, err
	}
	sc.rest = a
	for _, d := range deeds {
		if f := late[d.name]; f != nil {
			if err := f(ctx, sc, d.arg); err != nil {
				return nil, err
			}
		}
	}
	return a, nil
}
