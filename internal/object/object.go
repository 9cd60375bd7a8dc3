package object

import (
	"context"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/object/guard"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// Tools holds the inputs that the provider calls about one object share: its provider, its type and its address. The
// methods of Tools make the calls.
type Tools struct {
	Object   addr.Object
	Provider guard.Provider
	Type     *Type
	Walk     *Walk
	Bag      *diag.Bag
	Where    func(cty.Path) diag.Range // returns the position of an attribute in the configuration; nil: diagnostics have no position

	Allow provider.Allow // whether the provider may defer its answers to Plan, ReadData, Open and PlanAction
	Note  provider.Note  // data for the process that records the answer if Lethe crashes; sent with calls that create, change, destroy or open something, or invoke an action
	Began time.Time      // when the caller sent the event of the destruction; zero if Down must send it

	// Unanswered is true if the provider did not answer a call that creates, changes, destroys or opens something, or
	// that invokes an action. It is then unknown whether the call had an effect.
	Unanswered bool
}

// Type is the schema of one resource type. All objects of the type share a Type.
type Type = guard.Type

// Walk holds the inputs that all objects of one walk share. A walk is the run of the graph of a plan or an apply.
type Walk struct {
	Sink  event.Sink
	Times event.Sink   // receives event.Called with the times of each call; nil: such events are not made
	Guard *guard.Guard // checks all answers and has the secrets
	// Token makes a call while it holds a token. The number of tokens is the limit of -parallelism. Calls that may use
	// a remote API need a token. If the walk is cancelled first, Token returns false without making the call. If Token
	// is nil, calls need no token.
	Token func(ctx context.Context, call func()) bool
	// Retries has the user's retry policy of each provider, for calls that fail for a time. Pause waits between two
	// attempts, and returns false if the walk is cancelled.
	Retries provider.Retries
	Pause   func(ctx context.Context, d time.Duration) bool
	// Unanswered has the advice about calls that the provider did not answer. nil means FollowedByPlan.
	Unanswered Advice
	// Reread is true if the walk reads data sources because a saved plan does not contain their results.
	Reread bool
}

// Report reports the provider's diagnostics about the object. It returns false if one of the diagnostics is an error.
func (t *Tools) Report(ds provider.Diags) bool {
	for _, d := range ds {
		t.Add(d)
	}
	return !ds.HasErrors()
}

// Add completes a diagnostic with the object's address and the place in the configuration, and reports it.
func (t *Tools) Add(d diag.Diagnostic) {
	if d.Address == "" {
		d.Address = t.Object.Instance.String()
	}
	if d.Subject == nil && t.Where != nil {
		d = d.At(t.Where(d.Path))
	}
	t.Bag.Add(d)
}

// Advice has a text for each operation that explains the consequence of a call that the provider did not answer. Each
// text continues a sentence that begins with the address of the object.
type Advice map[event.Op]string

// FollowedByPlan is the advice for commands whose state a later plan reads. The state of a test is deleted at its end,
// so tests have other advice.
var FollowedByPlan = Advice{
	event.Create: "may exist, because Lethe asked its provider to create it. It is not in the state, and the next plan in this directory reports this call. If it exists, import it.",
	event.Update: "may have been changed. The next plan reads it again, and reports this call.",
	event.Delete: "may have been destroyed. The next plan reads it again, and reports this call.",
}

// unanswered returns the advice about an operation that the provider did not answer. The advice is the end of the error
// message.
func (t *Tools) unanswered(op event.Op) string {
	if t.Walk.Unanswered != nil {
		return t.Walk.Unanswered[op]
	}
	return FollowedByPlan[op]
}

// subject returns the object with its provider and type in the form that package guard needs to check answers.
func (t *Tools) subject() guard.Subject {
	return guard.Subject{Object: t.Object, Provider: t.Provider, Type: t.Type, To: t}
}

// admit checks an answer about the object. terms describes the permitted contents of the answer. It returns the parts
// that may be used, and false if the answer breaks a rule or reports an error.
func (t *Tools) admit(answer *guard.Answer, terms guard.Terms) (*guard.Admitted, bool) {
	return t.Walk.Guard.Admit(t.subject(), answer, terms)
}

// breach reports the error that the provider violated the protocol.
func (t *Tools) breach(summary, format string, a ...any) {
	t.Add(diag.Errorf(summary, format, a...))
}

// who returns the name of the provider for messages.
func (t *Tools) who() string { return t.subject().Who() }

// send sends an event.
func (t *Tools) send(e event.Event) {
	if t.Walk.Sink != nil {
		t.Walk.Sink.Send(e)
	}
}

// token runs call while holding a token. It returns false, without the call, if the walk is cancelled.
func (t *Tools) token(ctx context.Context, call func()) bool {
	if t.Walk.Token == nil {
		call()
		return true
	}
	return t.Walk.Token(ctx, call)
}

// ask makes a call with make while it holds a token, and returns the answer. If the call fails with an error that the
// user's retry policy for the provider names, ask waits without a token and repeats the call, up to the number of
// attempts of the policy. It does not repeat a kind of call that the policy does not permit to repeat (Call.Repeats).
// If the walk is cancelled during this wait, ask returns the last answer. called is false if the walk was cancelled
// before the first call.
func (t *Tools) ask(ctx context.Context, call event.Call, make func() guard.Answer) (answer guard.Answer, called bool) {
	retry := t.Walk.Retries.Of(t.Provider.Addr())
	for n := 1; ; n++ {
		if !t.attempt(ctx, call, func() { answer = make() }) {
			return answer, n > 1
		}
		if retry == nil || n == retry.Attempts || !call.Repeats(retry.Idempotent) {
			return answer, true
		}
		match := answer.Passing(retry)
		if match == "" {
			return answer, true
		}
		pause := retry.Pause(n)
		t.send(event.Retried{Object: t.Object, Call: call, Match: match, Attempt: n + 1, Attempts: retry.Attempts, Pause: pause})
		began := time.Now()
		waited := t.Walk.Pause(ctx, pause)
		if t.Walk.Times != nil {
			t.Walk.Times.Send(event.Waited{Visit: event.VisitOf(ctx), For: "the next attempt", Began: began, Ended: time.Now()})
		}
		if !waited {
			return answer, true
		}
	}
}

// attempt calls make, which makes a call of the provider, while it holds a token. If Walk.Times is set, it receives the
// times of the call. attempt returns false if the walk is cancelled first.
func (t *Tools) attempt(ctx context.Context, call event.Call, make func()) bool {
	if t.Walk.Times == nil {
		return t.token(ctx, make)
	}
	c := event.Called{Visit: event.VisitOf(ctx), Object: t.Object, Call: call, Wanted: time.Now()}
	return t.token(ctx, func() {
		c.Began = time.Now()
		make()
		c.Ended = time.Now()
		t.Walk.Times.Send(c)
	})
}

// Stored has the fields of a state entry that do not come from the provider, and settings of the steps that make the
// entry.
type Stored struct {
	Provider    addr.ProviderInstance
	Recorded    []addr.Resource // the resources on which the object depends
	CreateFirst bool            // create_before_destroy is set for the object, or for an object that depends on it
	SkipDestroy bool            // lifecycle.destroy = false
	Protected   bool            // lifecycle.prevent_destroy = true

	Was *state.Entry // only for a data source: the entry of the previous run, or nil

	// Several permits an import in which the provider finds several objects. The first object of the type is recorded,
	// and a warning reports the others.
	Several bool

	// If Later is set, it receives the event of success in place of Walk.Sink. It is set if further steps must succeed
	// before views may show the success.
	Later func(event.Done)
}
