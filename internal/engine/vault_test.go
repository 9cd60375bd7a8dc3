package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/providertest"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"
)

// A vault is a fake provider. It issues tokens and accepts them only while they are open. Tokens are results of the
// ephemeral resource vault_token, and arguments of the resource vault_user and of the provider. The vault records each
// wrong use of a token.
type vault struct {
	mu     sync.Mutex
	issued int                 // the number of tokens that were issued so far
	good   map[string][]string // the open tokens, each with the tokens that it was obtained with
	opened map[string]int      // number of openings in this plan or apply, by name of the ephemeral resource
	users  map[*client]bool    // configured processes
	wrong  []string            // the wrong uses of tokens and other errors that the test found
	faults map[string]int      // number of calls of each kind until one fails; 0: none fails
	cancel func()              // called to cancel the walk when left becomes 0
	left   int                 // number of calls until cancel
}

// client is a process of the provider.
type client struct{ token string }

var (
	vaultUser = &schema.Block{Attrs: []*schema.Attr{
		{Name: "id", Type: cty.String, Computed: true},
		{Name: "name", Type: cty.String, Required: true},
		{Name: "secret", Type: cty.String, Optional: true, WriteOnly: true},
	}}
	vaultToken = &schema.Block{Attrs: []*schema.Attr{
		{Name: "name", Type: cty.String, Required: true},
		{Name: "token", Type: cty.String, Computed: true},
		{Name: "with", Type: cty.String, Optional: true},
	}}
	vaultSettings = &schema.Block{Attrs: []*schema.Attr{{Name: "token", Type: cty.String, Optional: true}}}
)

func (v *vault) Start(_ context.Context, a addr.Provider) (provider.Provider, error) {
	s := &client{}
	text := func(b *schema.Block, d provider.Dynamic, name string) (string, cty.Value) {
		obj, err := b.Decode(d.Msgpack)
		if err != nil || obj.IsNull() {
			return "", obj
		}
		if x := obj.GetAttr(name); x.IsKnown() && !x.IsNull() {
			return x.AsString(), obj
		}
		return "", obj
	}
	return &providertest.Fake{
		Address: a,
		Describe: func() (*provider.Schemas, provider.Diags) {
			out := provider.NewSchemas(&schema.Schema{Block: vaultSettings})
			out.Add(addr.Managed, "vault_user", func() (*schema.Schema, error) { return &schema.Schema{Block: vaultUser}, nil })
			out.Add(addr.Ephemeral, "vault_token", func() (*schema.Schema, error) { return &schema.Schema{Block: vaultToken}, nil })
			return out, nil
		},
		OnConfigure: func(_ context.Context, d provider.Dynamic, _ provider.Allow) provider.Diags {
			token, _ := text(vaultSettings, d, "token")
			v.mu.Lock()
			defer v.mu.Unlock()
			v.use("settings", token)
			s.token = token
			v.users[s] = true
			return nil
		},
		Ends: providertest.Ends{OnShutdown: func() error {
			v.mu.Lock()
			defer v.mu.Unlock()
			delete(v.users, s)
			return nil
		}},
		OnOpen: func(_ context.Context, r provider.OpenRequest) (provider.OpenResponse, provider.Diags) {
			with, obj := text(vaultToken, r.Config, "with")
			name := obj.GetAttr("name").AsString()
			v.mu.Lock()
			defer v.mu.Unlock()
			v.use("opening "+name, with+" "+s.token)
			v.opened[name]++
			if ds := v.fails("open"); ds != nil {
				return provider.OpenResponse{}, ds
			}
			v.issued++
			token := fmt.Sprintf("token-%d-of-%s", v.issued, name)
			v.good[token] = strings.Fields(with + " " + s.token)
			attrs := obj.AsValueMap()
			attrs["token"] = cty.StringVal(token)
			result, _ := vaultToken.Encode(cty.ObjectVal(attrs))
			return provider.OpenResponse{Result: provider.Dynamic{Msgpack: result}, Private: []byte(token)}, nil
		},
		OnCloseLease: func(_ context.Context, _ string, private []byte) provider.Diags {
			v.mu.Lock()
			defer v.mu.Unlock()
			token := string(private)
			v.use("closing "+token, token+" "+s.token)
			delete(v.good, token)
			for child, with := range v.good {
				if slices.Contains(with, token) {
					v.note("%s was closed before %s, which was obtained with it", token, child)
				}
			}
			for u := range v.users {
				if slices.Contains(strings.Fields(u.token), token) {
					v.note("%s was closed before the process that has it", token)
				}
			}
			return v.fails("close")
		},
		OnPlan: func(_ context.Context, r provider.PlanRequest) (provider.PlanResponse, provider.Diags) {
			secret, _ := text(vaultUser, r.Config, "secret")
			_, obj := text(vaultUser, r.Proposed, "name")
			v.mu.Lock()
			defer v.mu.Unlock()
			v.use("planning", secret+" "+s.token)
			if ds := v.fails("plan"); ds != nil {
				return provider.PlanResponse{}, ds
			}
			if obj.IsNull() {
				return provider.PlanResponse{Planned: r.Proposed}, nil
			}
			attrs := obj.AsValueMap()
			attrs["secret"] = cty.NullVal(cty.String)
			if attrs["id"].IsNull() {
				attrs["id"] = cty.UnknownVal(cty.String)
			}
			planned, _ := vaultUser.Encode(cty.ObjectVal(attrs))
			return provider.PlanResponse{Planned: provider.Dynamic{Msgpack: planned}}, nil
		},
		OnApply: func(_ context.Context, r provider.ApplyRequest) (provider.ApplyResponse, provider.Diags) {
			secret, _ := text(vaultUser, r.Config, "secret")
			_, obj := text(vaultUser, r.Planned, "name")
			v.mu.Lock()
			defer v.mu.Unlock()
			v.use("applying", secret+" "+s.token)
			if ds := v.fails("apply"); ds != nil {
				return provider.ApplyResponse{State: r.Prior}, ds
			}
			if obj.IsNull() {
				return provider.ApplyResponse{State: r.Planned}, nil
			}
			attrs := obj.AsValueMap()
			if !attrs["id"].IsKnown() {
				attrs["id"] = cty.StringVal("made")
			}
			made, _ := vaultUser.Encode(cty.ObjectVal(attrs))
			return provider.ApplyResponse{State: provider.Dynamic{Msgpack: made}}, nil
		},
	}, nil
}

// use records an error for each token in tokens that is not open. The argument what names the call that uses the
// tokens.
func (v *vault) use(what, tokens string) {
	if v.left--; v.left == 0 {
		v.cancel()
	}
	for _, token := range strings.Fields(tokens) {
		if _, ok := v.good[token]; !ok {
			v.note("%s with %s, which is closed", what, token)
		}
	}
}

func (v *vault) note(format string, args ...any) {
	v.wrong = append(v.wrong, fmt.Sprintf(format, args...))
}

// fails counts down the calls of a kind in v.faults, and returns an error when the count reaches 0.
func (v *vault) fails(kind string) provider.Diags {
	if v.faults[kind] == 0 {
		return nil
	}
	if v.faults[kind]--; v.faults[kind] > 0 {
		return nil
	}
	return provider.Diags{diag.Errorf("Refused", "It is meant to fail.")}
}

// leased returns a random configuration of leases (ephemeral resources) and their receivers. Some leases have other
// leases as arguments. A receiver receives all instances of an ephemeral block, one instance by its key, or the
// instance with the receiver's own key. It does so directly or through values, modules and providers.
func leased(t *rapid.T) map[string]string {
	var root strings.Builder
	root.WriteString("terraform {\n  required_providers {\n    vault = { source = \"acme/vault\" }\n  }\n}\n")
	type block struct {
		name  string
		count int // 0: not repeated
	}
	var leases []block
	var users, providers []string
	one := func(n int, label string) bool { return rapid.IntRange(0, n-1).Draw(t, label) == 0 }
	// token returns an expression for one or more tokens. The parameter own is the number of instances of the receiver.
	token := func(own int, label string) string {
		b := rapid.SampledFrom(leases).Draw(t, label)
		at := "ephemeral.vault_token." + b.name
		switch {
		case b.count == 0:
			return at + ".token"
		case own > 0 && own <= b.count && !one(3, label+" other"):
			return at + "[count.index].token"
		case one(4, label+" all"):
			return "join(\" \", " + at + "[*].token)"
		}
		return fmt.Sprintf("%s[%d].token", at, rapid.IntRange(0, b.count-1).Draw(t, label+" which"))
	}
	tokens := func(own int, label string) string {
		if one(3, label+" two") {
			return "\"${" + token(own, label+" first") + "} ${" + token(own, label+" second") + "}\""
		}
		return token(own, label)
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "leases") {
		b := block{fmt.Sprintf("l%d", i), rapid.IntRange(0, 3).Draw(t, "count")}
		fmt.Fprintf(&root, "ephemeral \"vault_token\" %q {\n", b.name)
		if b.count > 0 {
			fmt.Fprintf(&root, "  count = %d\n  name = \"%s-${count.index}\"\n", b.count, b.name)
		} else {
			fmt.Fprintf(&root, "  name = %q\n", b.name)
		}
		if len(leases) > 0 && one(2, "with") {
			fmt.Fprintf(&root, "  with = %s\n", tokens(b.count, "with"))
		}
		if one(5, "postcondition") {
			root.WriteString("  lifecycle {\n    postcondition {\n      condition = self.token != \"\"\n      error_message = \"None.\"\n    }\n  }\n")
		}
		root.WriteString("}\n")
		leases = append(leases, b)
	}
	for i := range 2 { // the same two providers in every configuration, because objects are destroyed through the provider that created them
		providers = append(providers, fmt.Sprintf("p%d", i))
		fmt.Fprintf(&root, "provider \"vault\" {\n  alias = \"p%d\"\n  token = %s\n}\n", i, tokens(0, "settings"))
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "locals") {
		fmt.Fprintf(&root, "locals {\n  v%d = %s\n}\n", i, tokens(0, "local"))
		fmt.Fprintf(&root, "resource \"vault_user\" \"by_local%d\" {\n  name = \"x\"\n  secret = local.v%d\n}\n", i, i)
	}
	for i := range rapid.IntRange(1, 5).Draw(t, "users") {
		n := rapid.IntRange(0, 3).Draw(t, "count")
		fmt.Fprintf(&root, "resource \"vault_user\" \"u%d\" {\n", i)
		if n > 0 {
			fmt.Fprintf(&root, "  count = %d\n", n)
		}
		name := fmt.Sprintf("%q", rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name"))
		if len(users) > 0 && one(2, "refers") {
			name = rapid.SampledFrom(users).Draw(t, "name") + ".id"
		}
		fmt.Fprintf(&root, "  name = %s\n", name)
		if !one(4, "no secret") {
			fmt.Fprintf(&root, "  secret = %s\n", tokens(n, "secret"))
		}
		if one(2, "provider") {
			fmt.Fprintf(&root, "  provider = vault.%s\n", rapid.SampledFrom(providers).Draw(t, "provider"))
		}
		root.WriteString("}\n")
		if n == 0 {
			users = append(users, fmt.Sprintf("vault_user.u%d", i))
		}
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "modules") {
		fmt.Fprintf(&root, "module \"m%d\" {\n  source = \"./m\"\n", i)
		n := rapid.IntRange(0, 2).Draw(t, "count")
		if n > 0 {
			fmt.Fprintf(&root, "  count = %d\n", n)
		}
		fmt.Fprintf(&root, "  token = %s\n}\n", tokens(n, "argument"))
	}
	return map[string]string{"main.tf": root.String(), "m/main.tf": `
terraform {
  required_providers {
    vault = { source = "acme/vault" }
  }
}
variable "token" {
  ephemeral = true
}
ephemeral "vault_token" "inner" {
  count = 2
  name  = "inner-${count.index}"
  with  = var.token
}
resource "vault_user" "each" {
  count  = 2
  name   = "c"
  secret = "${var.token} ${ephemeral.vault_token.inner[count.index].token}"
}
resource "vault_user" "first" {
  name   = vault_user.each[1].id
  secret = ephemeral.vault_token.inner[0].token
}
`}
}

// TestLeases plans, applies, changes and destroys random configurations, with failing calls and cancelled runs. In all
// cases no closed token is used, no token stays open, and no lease is opened twice in a walk for the same face (prior
// or planned values).
func TestLeases(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := &vault{good: map[string][]string{}, users: map[*client]bool{}}
		pool := provider.NewPool(v)
		defer pool.Close()
		w := &random{T: t, Engine: &Engine{Settings: Settings{Pool: pool, Now: time.Now}}, state: &state.Snapshot{}}
		for range rapid.IntRange(1, 3).Draw(t, "configurations") {
			v.round(w, leased(t), rapid.SampledFrom([]plan.Mode{plan.Normal, plan.Normal, plan.RefreshOnly}).Draw(t, "mode"))
		}
		v.round(w, leased(t), plan.Destroy)
	})
}

// round plans and applies one configuration. Both must succeed unless a call fails or the walk is cancelled.
func (v *vault) round(w *random, files map[string]string, mode plan.Mode) {
	v.faults = map[string]int{}
	for _, kind := range []string{"open", "close", "plan", "apply"} {
		if rapid.IntRange(0, 5).Draw(w.T, kind+" fails") == 0 {
			v.faults[kind] = rapid.IntRange(1, 6).Draw(w.T, "after calls")
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	v.cancel, v.left = cancel, rapid.IntRange(-20, 20).Draw(w.T, "calls until cancelled")
	smooth := len(v.faults) == 0 && v.left <= 0
	v.opened = map[string]int{}
	p, bag := w.tryPlan(ctx, files, mode)
	if smooth && p == nil {
		v.note("no plan: %v", bag.List())
	}
	v.settle(w, files, "plan")
	if p == nil {
		return
	}
	v.opened = map[string]int{}
	bag = &diag.Bag{}
	done, ok := w.Apply(ctx, ApplyRequest{Program: w.prog, Plan: p, Options: frame.Options{Workspace: "default", Applying: true}}, bag)
	if smooth && !ok {
		v.note("not applied: %v", bag.List())
	}
	if done != nil && done.Snapshot != nil {
		w.state = done.Snapshot
	}
	v.settle(w, files, "apply")
}

// settle checks that a walk has left no token open, and has opened no token more than twice, except inner tokens. It
// ends the test if this or another rule is violated.
func (v *vault) settle(w *random, files map[string]string, walk string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for token := range v.good {
		v.note("%s was left open", token)
	}
	for name, n := range v.opened {
		if n > 2 && !strings.HasPrefix(name, "inner") {
			v.note("%s was opened %d times", name, n)
		}
	}
	if len(v.wrong) > 0 {
		w.Fatalf("%s:\n%s\n%s", walk, strings.Join(v.wrong, "\n"), files["main.tf"])
	}
}
