package file

import (
	"errors"
	"fmt"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
)

// The body of the member tfplan, after the first line, is the fields of plan.Plan in the order
// below, without its two states, which are members of their own. Whoever changes what is written
// here raises the version in firstLine.

// encode is the body of a plan.
func encode(p *plan.Plan) ([]byte, error) {
	c := &coder{}
	whole := *p
	c.plan(&whole)
	if c.err != nil {
		return nil, c.err
	}
	return c.out, nil
}

// decode reads the body into a plan that has its states already.
func decode(body []byte, p *plan.Plan) (err error) {
	defer func() {
		if x := recover(); x != nil { // from package cty, should it find a value impossible
			err = errors.New("its values contradict each other")
		}
	}()
	c := &coder{reading: true, in: body}
	c.plan(p)
	if c.err == nil && len(c.in) > 0 {
		c.err = fmt.Errorf("there are %d bytes too many", len(c.in))
	}
	return c.err
}

func (c *coder) plan(p *plan.Plan) {
	enum(c, &p.Mode, plan.RefreshOnly)
	change := func(x **plan.Change) { pointer(c, x, func(x *plan.Change) { c.change(p, x) }) }
	list(c, &p.Changes, change)
	list(c, &p.Drift, change)
	list(c, &p.Deferred, change)
	list(c, &p.Outputs, func(x **plan.OutputChange) { pointer(c, x, c.output) })
	list(c, &p.Checks, c.check)
	texts(c, &p.Variables, func(v *plan.Variable) { c.raw(&v.Value) })
	list(c, &p.Ephemeral, func(s *string) { text(c, s) })
	list(c, &p.Targets, c.target)
	list(c, &p.Excludes, c.target)
	list(c, &p.ForceReplace, c.instance)
	list(c, &p.Relevant, c.relevant)
	texts(c, &p.Functions, func(s *string) { text(c, s) })
	texts(c, &p.Keys, func(ks *[]addr.Key) { list(c, ks, c.key) })
	texts(c, &p.KeysBefore, func(ks *[]addr.Key) { list(c, ks, c.key) })
	list(c, &p.Readings, c.answer)
	list(c, &p.Settings, c.settings)
	table(c, &p.Providers, addr.Provider.Compare, c.provider, func(s *string) { text(c, s) })
	text(c, &p.Workspace)
	text(c, &p.Backend)
	c.time(&p.Timestamp)
	c.flag(&p.Errored)
	c.flag(&p.Complete)
	c.flag(&p.SpareDeposed)
}

func (c *coder) change(p *plan.Plan, x *plan.Change) {
	c.object(&x.Object)
	c.about = x.Object
	moved := x.Was != x.Object
	if c.flag(&moved); moved {
		c.object(&x.Was)
	} else {
		x.Was = x.Object
	}
	enum(c, &x.Action, plan.ForgetCreate)
	text(c, &x.Why)
	c.value(&x.Before)
	c.value(&x.After)
	c.flag(&x.Settled)
	c.flag(&x.Unchanged)
	c.entryOf(p, x)
	list(c, &x.Replace, c.path)
	list(c, &x.Sent, c.path)
	c.flag(&x.CreateFirst)
	text(c, &x.FirstFor)
	c.flag(&x.SkipDestroy)
	c.providerInstance(&x.Provider)
	c.bytes(&x.Private)
	c.raw(&x.Identity)
	c.raw(&x.BeforeIdentity)
	c.flag(&x.Legacy)
	maybe(c, &x.Importing, c.importing)
	text(c, &x.Generated)
	list(c, &x.Recorded, c.resource)
	c.flag(&x.Conditions)
	c.about = nil
}

// Where the entry of a change is.
const (
	noEntry uint8 = iota
	entryRefreshed
	entryPrevious
	entryHere
)

// entryOf is the entry of a change: a place in one of the two states as a rule.
func (c *coder) entryOf(p *plan.Plan, x *plan.Change) {
	place := noEntry
	switch {
	case c.reading || x.Entry == nil:
	case p.Refreshed.Get(x.Object) == x.Entry:
		place = entryRefreshed
	case p.Previous.Get(x.Was) == x.Entry:
		place = entryPrevious
	default:
		place = entryHere
	}
	enum(c, &place, entryHere)
	switch {
	case place == entryHere:
		pointer(c, &x.Entry, c.entry)
	case !c.reading || place == noEntry:
	case place == entryRefreshed:
		x.Entry = p.Refreshed.Get(x.Object)
	default:
		x.Entry = p.Previous.Get(x.Was)
	}
	if place != noEntry && x.Entry == nil {
		c.fail(fmt.Errorf("the state has no object %s", x.Object))
	}
}

func (c *coder) entry(x *state.Entry) {
	c.bytes(&x.Attrs)
	texts(c, &x.Flatmap, func(s *string) { text(c, s) })
	c.int(&x.Schema)
	c.providerInstance(&x.Provider)
	c.bytes(&x.Private)
	c.bytes(&x.Identity)
	c.int(&x.IdentitySchema)
	list(c, &x.Sensitive, c.path)
	list(c, &x.Recorded, c.resource)
	c.flag(&x.CreateFirst)
	c.flag(&x.SkipDestroy)
	c.flag(&x.Tainted)
	c.bytes(&x.Extra)
}

func (c *coder) answer(x *plan.Reading) {
	c.object(&x.Object)
	c.about = x.Object
	maybe(c, &x.Entry, c.entry)
	c.about = nil
}

func (c *coder) settings(x *plan.Settings) {
	c.providerInstance(&x.Provider)
	c.flag(&x.Equal)
	c.flag(&x.NoBefore)
}

func (c *coder) importing(x *plan.Importing) {
	text(c, &x.ID)
	c.raw(&x.Identity)
	c.flag(&x.Unknown)
}

func (c *coder) output(x *plan.OutputChange) {
	text(c, &x.Name)
	c.about = named("output." + x.Name)
	enum(c, &x.Action, plan.ForgetCreate)
	c.value(&x.Before)
	c.value(&x.After)
	c.flag(&x.Sensitive)
	text(c, &x.Deprecated)
	c.about = nil
}

type named string

func (n named) String() string { return string(n) }

func (c *coder) check(x *state.Check) {
	text(c, &x.Kind)
	text(c, &x.Addr)
	enum(c, &x.Status, state.Errored)
	list(c, &x.Objects, func(o *state.CheckedObject) {
		text(c, &o.Addr)
		enum(c, &o.Status, state.Errored)
		list(c, &o.Failures, func(s *string) { text(c, s) })
	})
}

func (c *coder) relevant(x *plan.Relevant) {
	c.absResource(&x.Resource)
	c.key(&x.Key)
	c.path(&x.Path)
}

// time is a moment to the nanosecond, in UTC.
func (c *coder) time(p *time.Time) {
	set := !p.IsZero()
	if c.flag(&set); !set {
		*p = time.Time{}
		return
	}
	sec, nano := p.Unix(), int64(p.Nanosecond())
	c.int(&sec)
	c.int(&nano)
	*p = time.Unix(sec, nano).UTC()
}
