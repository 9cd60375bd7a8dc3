// Package raw is a provider that misbehaves on demand: a test lets it crash, hang, return wrong or secret values, or
// write noise. It uses terraform-plugin-go directly, because the libraries above it prevent most of these faults.
//
// Without rules it is a correct provider: it plans, applies, reads and leases like the other playground providers,
// stores its objects in the same cloud and writes its calls to the same log. Rules (rules.go) in the environment or in
// the attribute misbehave of an object select its faults. The faults are in deeds.go, before and during an answer, and
// in start.go, before the first call. The README lists every deed.
//
// It serves protocol 6, and protocol 5 through a downgrade.
package raw

import (
	"context"
	"os"
	"sync"

	"github.com/hashicorp/terraform-plugin-go/tfprotov5"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/hashicorp/terraform-plugin-mux/tf6to5server"

	"github.com/lethe-iac/lethe/test/providers/calls"
)

// Environment variables of this package, besides the variables of packages calls and cloud.
const (
	EnvRules    = "PLAYGROUND_ROGUE"          // the rules for the faults of calls (rules.go)
	EnvStart    = "PLAYGROUND_ROGUE_START"    // the fault before the provider serves (start.go)
	EnvProtocol = "PLAYGROUND_ROGUE_PROTOCOL" // "5" to serve protocol 5
	EnvSchema   = "PLAYGROUND_ROGUE_SCHEMA"   // the faulty types that the provider offers (schema.go)
	EnvSecret   = "PLAYGROUND_ROGUE_SECRET"   // the text that leaks in place of a call's own secret
)

// Server6 returns a function that makes provider servers of protocol 6. They share one provider and log every call in
// book.
func Server6(book *calls.Book) func() tfprotov6.ProviderServer {
	r := newRogue(6)
	return func() tfprotov6.ProviderServer { return calls.Server6(book, r) }
}

// Server5 returns a function that makes provider servers of protocol 5, without nested attributes. They share one
// provider and log every call in book.
func Server5(ctx context.Context, book *calls.Book) (func() tfprotov5.ProviderServer, error) {
	r := newRogue(5)
	down, err := tf6to5server.DowngradeServer(ctx, func() tfprotov6.ProviderServer { return r })
	if err != nil {
		return nil, err
	}
	return func() tfprotov5.ProviderServer { return calls.Server5(book, down) }, nil
}

// rogue is the provider. Its methods are in provider.go, resource.go, ephemeral.go, search.go, act.go and store.go.
type rogue struct {
	schemas schemas
	broken  error // the reason why the rules cannot be read; nil: they could be read

	mu    sync.Mutex
	rules []rule // the rules from the environment and from the configuration of the provider
	label string
	dir   string // the directory of the state store
}

func newRogue(protocol int) *rogue {
	rules, err := environment()
	return &rogue{schemas: all(protocol), rules: rules, broken: err}
}

// A scene is the data of one call that deeds use: its subject, and pointers into the answer. A pointer is nil if this
// kind of answer has no such part.
type scene struct {
	names  []string // names by which a rule can select the call, the longest first
	key    string   // name or ID of the object
	spec   string   // the rules that the object's own configuration contains
	secret string   // a secret in the request, or a generated one

	config tftypes.Value // the configuration, if the request has one
	typ    tftypes.Type  // type of *value

	value    **tfprotov6.DynamicValue
	identity **tfprotov6.ResourceIdentityData
	private  *[]byte
	diags    *[]*tfprotov6.Diagnostic
	deferred **tfprotov6.Deferred
	rest     any // the whole answer, for faults that apply to one kind of answer
}

// play answers one call: it runs the early deeds, the work, and the late deeds. The work sets the pointers of the
// scene. An error of the rules, of a deed or of the work is the error of the call.
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
	if s := os.Getenv(EnvSecret); s != "" {
		sc.secret = s
	}
	for _, d := range deeds {
		if f := late[d.name]; f != nil {
			if err := f(ctx, sc, d.arg); err != nil {
				return nil, err
			}
		}
	}
	return a, nil
}
