package leases

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/enginetest"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/lease"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/object/guard"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/providertest"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// stage is a walk that opens leases (ephemeral resources), with a provider that records its calls.
type stage struct {
	*Leases
	prog   *program.Program
	frame  *frame.Frame
	fake   *providertest.Fake
	bag    diag.Bag
	events []string

	log providertest.Log
}

var key = &schema.Schema{Block: &schema.Block{Attrs: []*schema.Attr{
	{Name: "of", Type: cty.String, Optional: true}, {Name: "token", Type: cty.String, Computed: true},
}}}

// Of returns schemas with the ephemeral type t_key for every provider. It implements provider.Lookup.
func (s *stage) Of(addr.Provider) *provider.Schemas {
	out := provider.NewSchemas(&schema.Schema{Block: &schema.Block{}})
	out.Add(addr.Ephemeral, "t_key", func() (*schema.Schema, error) { return key, nil })
	out.Add(addr.Managed, "t_item", func() (*schema.Schema, error) {
		return &schema.Schema{Block: &schema.Block{Attrs: []*schema.Attr{{Name: "a", Type: cty.String, Optional: true, WriteOnly: true}}}}, nil
	})
	return out
}

// opener is the Opener of a stage: it returns tools whose provider records the address of each opened instance.
type opener struct{ *stage }

func (o opener) Tools(_ context.Context, e *program.Declaration, _ *frame.Frame, _ addr.Key, inst addr.Instance, _ frame.Face) (*object.Tools, bool, bool) {
	token := func(_ context.Context, call func()) bool { call(); return true }
	p := &providertest.Fake{Address: o.fake.Address, OnCloseLease: o.fake.OnCloseLease}
	p.OnOpen = func(context.Context, provider.OpenRequest) (provider.OpenResponse, provider.Diags) {
		o.log.Note("open " + inst.String())
		wire, err := key.Encode(cty.ObjectVal(map[string]cty.Value{"of": cty.NullVal(cty.String), "token": cty.StringVal("t")}))
		if err != nil {
			panic(err)
		}
		return provider.OpenResponse{Result: provider.Dynamic{Msgpack: wire}, Private: []byte(inst.String())}, nil
	}
	return &object.Tools{
		Object: inst.Current(), Provider: guard.Of(p), Bag: &o.bag, Walk: &object.Walk{Sink: event.Discard, Token: token, Guard: &guard.Guard{}},
		Type: &object.Type{Schema: key, Name: "t_key", Mode: addr.Ephemeral},
	}, true, true
}

func (o opener) Pre(*program.Declaration, *frame.Frame, addr.Key, addr.Instance) bool { return true }
func (o opener) Post(*program.Declaration, *frame.Frame, addr.Key, addr.Instance, func() mark.Value) bool {
	return true
}

const config = `
ephemeral "t_key" "k" {
  count = 2
}
resource "t_item" "a" {
  count = 2
  a     = ephemeral.t_key.k[count.index].token
}
resource "t_item" "b" {
  a = ephemeral.t_key.k[0].token
}
`

func newStage(t *testing.T, ready plan.Outcome) *stage {
	s := &stage{prog: enginetest.Program(t, map[string]string{"main.tf": config})}
	if !vet.Check(s.prog, s.Of, vet.CheckOptions{}, &s.bag) {
		t.Fatal(s.bag.List())
	}
	s.frame = enginetest.Frame(t, s.prog, frame.Options{})
	s.frame.Begin()
	s.fake = &providertest.Fake{Address: addr.Default("t"), OnCloseLease: func(_ context.Context, _ string, private []byte) provider.Diags {
		s.log.Note("close " + string(private))
		return nil
	}}
	s.Leases = New(Options{
		Program: s.prog, Receivers: receivers.Analyse(s.prog, nil), Ledger: lease.NewLedger(lease.Options{Now: time.Now}), All: &s.bag,
		Opener:   func(*diag.Bag) Opener { return opener{s} },
		Ready:    func(program.Decl, addr.ModuleInstance) plan.Outcome { return ready },
		InFlight: func(addr.Object, bool) {},
		Send:     func(e event.Event) { s.events = append(s.events, fmt.Sprintf("%T", e)) },
	})
	s.Fill(s.frame)
	return s
}

// receive calls Receive for the instance of a resource with the key k, and returns the declaration of the resource.
func (s *stage) receive(t *testing.T, resource string, k addr.Key) program.Decl {
	t.Helper()
	d := enginetest.Declaration(t, s.prog, resource)
	s.Receive(t.Context(), &s.bag, d.ID, addr.ModuleInstance{}, k, frame.After)
	return d.ID
}

// The first receiver (a resource that uses the lease) opens the lease, the next receiver gets the same lease, and no
// lease is open after End.
func TestOpenedOnce(t *testing.T) {
	s := newStage(t, plan.Done(true))
	s.receive(t, "t_item.a", addr.IntKey(0))
	s.receive(t, "t_item.b", addr.NoKey)
	s.receive(t, "t_item.a", addr.IntKey(0))
	if got := s.log.Drain(); got != "open ephemeral.t_key.k[0]" {
		t.Errorf("%s", got)
	}
	e := enginetest.Declaration(t, s.prog, "ephemeral.t_key.k")
	if n := len(s.OpenOf(e.ID)); n != 1 {
		t.Errorf("%d are open", n)
	}
	if v, ok := s.frame.Got(e.ID, addr.IntKey(0), frame.After); !ok || v.Raw.GetAttr("token").AsString() != "t" {
		t.Errorf("the slot holds %v", v)
	}
	s.End()
	if got := s.log.Drain(); got != "close ephemeral.t_key.k[0]" || len(s.bag.List()) > 0 {
		t.Errorf("%s: %v", got, s.bag.List())
	}
}

// Each instance of an ephemeral resource is closed after the last user that names this instance, without waiting for
// the users of other instances.
func TestUsers(t *testing.T) {
	s := newStage(t, plan.Done(true))
	u := s.Users()
	for _, name := range []string{"t_item.a", "t_item.b"} {
		if !u.Add(enginetest.Declaration(t, s.prog, name).ID) {
			t.Errorf("%s names no instance", name)
		}
	}
	a := s.receive(t, "t_item.a", addr.IntKey(0))
	s.receive(t, "t_item.a", addr.IntKey(1))
	b := s.receive(t, "t_item.b", addr.NoKey)
	s.log.Drain()
	for _, step := range []struct {
		what string
		do   func()
		want string
	}{
		{"a[0] is over, b is to come", func() { u.InstanceDone(a, addr.ModuleInstance{}, addr.IntKey(0)) }, ""},
		{"a[1] is over", func() { u.InstanceDone(a, addr.ModuleInstance{}, addr.IntKey(1)) }, "close ephemeral.t_key.k[1]"},
		{"b is over", func() { u.InstanceDone(b, addr.ModuleInstance{}, addr.NoKey); u.Done(b) }, "close ephemeral.t_key.k[0]"},
		{"all of a is over", func() { u.Done(a) }, ""},
	} {
		step.do()
		if got := s.log.Drain(); got != step.want {
			t.Errorf("%s: %q, want %q", step.what, got, step.want)
		}
	}
}

// An ephemeral resource that is opened only during apply has a placeholder as its value and is reported once. An
// ephemeral resource with a failed dependency has no value.
func TestNotReady(t *testing.T) {
	for ready, want := range map[plan.Outcome]bool{plan.Await(plan.ReadDependencyPending): true, {}: false} {
		s := newStage(t, ready)
		s.receive(t, "t_item.a", addr.IntKey(0))
		s.receive(t, "t_item.a", addr.IntKey(0))
		e := enginetest.Declaration(t, s.prog, "ephemeral.t_key.k")
		v, ok := s.frame.Got(e.ID, addr.IntKey(0), frame.After)
		if ok != want || ok && v.Raw.GetAttr("token").IsKnown() {
			t.Errorf("readiness %v: %v %v", ready, ok, v)
		}
		if got := s.log.Drain(); got != "" || len(s.events) > 1 || (len(s.events) == 1) != want {
			t.Errorf("readiness %v: %s, events %v", ready, got, s.events)
		}
	}
}
