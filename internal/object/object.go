package object

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/shortcut"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// Tools is what the steps of one object's life need. See the package's comment for the steps.
type Tools struct {
	Object   addr.Object
	Provider provider.Provider
	Type     *Type
	Walk     *Walk
	Bag      *diag.Bag
	Where    func(cty.Path) diag.Range // place of an attribute in the configuration; may be nil

	Note  provider.Note // goes with calls that change or open something
	Began time.Time     // when the destruction was announced; zero if Down is to announce it

	// Unanswered says that a call that makes something was made and not answered: it is not known
	// whether it was done.
	Unanswered bool
}

// Type is what the provider says about the objects of one type, shared by all of them.
type Type struct {
	*schema.Schema
	Name     string
	Mode     addr.Mode
	Identity *provider.Identity // nil: objects of this type have none
	Meta     provider.Dynamic   // provider_meta of the module

	once      sync.Once
	writeOnly []string
	top       bool
}

// writeOnlyNames are the write-only attributes of objects of the type; all says that there are no
// others deeper inside.
func (t *Type) writeOnlyNames() (names []string, all bool) {
	t.once.Do(func() {
		t.top = true
		for _, a := range t.Attrs {
			if a.WriteOnly {
				t.writeOnly = append(t.writeOnly, a.Name)
			} else if a.Object != nil {
				t.top = t.top && !(&schema.Block{Attrs: a.Object.Attrs}).HasWriteOnly()
			}
		}
		for _, n := range t.Blocks {
			t.top = t.top && !n.Block.HasWriteOnly()
		}
	})
	return t.writeOnly, t.top
}

// Walk is what all objects of one walk share.
type Walk struct {
	Sink    event.Sink
	Secrets *secret.Set
	// Token runs a call that may touch an API while holding one of the -parallelism tokens. It
	// reports false, without having called, when the walk is cancelled.
	Token func(ctx context.Context, call func()) bool
	// Shows says of a provider that it is there to show its configuration, secrets too, and that
	// text is a part of that: a test program runs it. The guard passes what it shows, wherever it
	// answers; nothing else. nil: there is none.
	Shows func(p addr.Provider, text string) bool
	// AllowDeferral says that providers may answer that they cannot say yet.
	AllowDeferral bool
	// Fleeting says that what is made is destroyed when a test is over, and that no plan comes after.
	Fleeting bool
	Closed   shortcut.Set // what is not to be taken

	mu    sync.Mutex
	later []func() // see Review
}

// Report passes on what the provider said about the object, and reports whether that is no error.
func (t *Tools) Report(ds provider.Diags) bool {
	for _, d := range ds {
		t.add(d)
	}
	return !ds.HasErrors()
}

// add completes a diagnostic with the object's address and the place in the configuration.
func (t *Tools) add(d diag.Diagnostic) {
	if d.Address == "" {
		d.Address = t.Object.Instance.String()
	}
	if d.Subject == nil && t.Where != nil {
		d = d.At(t.Where(d.Path))
	}
	t.Bag.Add(d)
}

// unknowns are what is said of a change that got no answer; in a test, after which comes no plan, in other words.
var unknowns = map[event.Op]struct{ text, tested string }{
	event.Create: {
		"may exist nevertheless: its provider was asked to create it. The state does not have it, and the next plan in this directory reports this call. Check whether it exists, and import it if it does.",
		"may exist nevertheless: its provider was asked to create it. No state has it, so that the test does not destroy it. Check whether it exists, and delete it if it does.",
	},
	event.Update: {
		"may have been changed nevertheless. The next plan reads it again, and reports this call.",
		"may have been changed nevertheless. The test destroys it, or names it among what is left.",
	},
	event.Delete: {
		"may be gone nevertheless. The next plan reads it again, and reports this call.",
		"may be gone nevertheless. The test destroys it if it is there, or names it among what is left.",
	},
}

// unanswered notes that a change got no answer, and says in its error what that means.
func (t *Tools) unanswered(op event.Op, ds provider.Diags) {
	t.Unanswered = true
	text := unknowns[op].text
	if t.Walk.Fleeting {
		text = unknowns[op].tested
	}
	for i := range ds {
		ds[i].Detail += "\n\n" + t.Object.String() + " " + text
	}
}

// breach reports that the provider broke the contract.
func (t *Tools) breach(summary, format string, a ...any) {
	t.add(diag.Errorf(summary, format, a...))
}

// who names the provider as messages do.
func (t *Tools) who() string { return `provider["` + t.Provider.Addr().String() + `"]` }

// tell sends an event.
func (t *Tools) tell(e event.Event) {
	if t.Walk.Sink != nil {
		t.Walk.Sink.Tell(e)
	}
}

// token runs call with a token held.
func (t *Tools) token(ctx context.Context, call func()) bool {
	if t.Walk.Token == nil {
		call()
		return true
	}
	return t.Walk.Token(ctx, call)
}

// allow is what the provider may answer.
func (t *Tools) allow() provider.Allow { return provider.Allow{Deferral: t.Walk.AllowDeferral} }

// deferred refuses an answer that puts a decision off without having been allowed to.
func (t *Tools) deferred(d provider.Deferred) bool {
	if d == "" || t.Walk.AllowDeferral {
		return false
	}
	t.breach("Invalid Deferred Response",
		"%s deferred its answer about %s (reason: %s), although Lethe had not allowed it to defer actions. This is a bug in the provider, to be reported there.",
		t.who(), t.Object, d)
	return true
}

// Stored is what an entry holds beside the object itself.
type Stored struct {
	Provider    addr.ProviderInstance
	Recorded    []addr.Resource
	CreateFirst bool
	SkipDestroy bool

	Was *state.Entry // of data: the previous run's; nil: there is none

	// Several permits an import that finds several objects: the first of the type is recorded, and a warning names the others.
	Several bool

	// Later takes the word that all is well, instead of the sink: there is more to do before it is.
	Later func(event.Done)
}

// withSchemaMarks is what is sensitive in v: what the configuration says, now or when it was stored, and
// what the schema says. The configuration says nothing about write-only attributes: they are null.
func withSchemaMarks(t *Tools, configured []mark.At, v cty.Value) []mark.At {
	if t.Type.HasWriteOnly() {
		configured = slices.DeleteFunc(configured, func(m mark.At) bool { return t.Type.IsWriteOnly(m.Path) })
	}
	return mark.Union(configured, mark.SensitiveAt(t.Type.SensitivePaths(v)))
}
