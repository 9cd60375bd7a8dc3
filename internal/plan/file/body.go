package file

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// The body of the member tfplan, after the first line, is JSON: a head with the fields of plan.Plan
// under their names in Go, except those that a structure below has under the same name, and then one
// object for each change. What is in values is the member values, since JSON would need each several times in
// memory. The two states are members of the archive. A change of what is written here raises format, the version.

// head is what comes first.
type head struct {
	plan.Plan
	Changes, Drift, Deferred int // how many follow, in this order
	Outputs                  []output
	Variables                map[string]json.RawMessage // with their types, as package cty/json writes them: numbers are exact
	Relevant                 []relevant
	Readings                 []json.RawMessage // as state.AppendObject writes objects
}

type change struct {
	plan.Change
	Before, After            value           `json:",omitzero"`
	Identity, BeforeIdentity value           `json:",omitzero"`
	Entry                    json.RawMessage `json:",omitempty"` // "refreshed" or "previous": that of the state; or as state.AppendObject writes it
	Replace, Sent            paths           `json:",omitzero"`
	Importing                *importing      `json:",omitzero"`
}

type output struct {
	plan.OutputChange
	Before, After value `json:",omitzero"`
}

type importing struct {
	plan.Importing
	Identity value `json:",omitzero"`
}

type relevant struct {
	plan.Relevant
	Path paths // one
}

// value is a value in the protocol's MessagePack form, which has unknown values and what is known of
// them. The zero value is NilVal.
type value struct {
	Type      int      // a number for its type, from 1
	Of        cty.Type `json:",omitzero"`  // the type, where it first occurs
	At, Size  int      `json:",omitzero"`  // where it is in the member values, in bytes
	Sensitive paths    `json:",omitempty"` // there is no other mark in a saved plan
}

// paths are places inside values, in the form of state files.
type paths []cty.Path

// MarshalJSON writes them.
func (p paths) MarshalJSON() ([]byte, error) { return state.AppendPaths(nil, p), nil }

// UnmarshalJSON reads what MarshalJSON writes.
func (p *paths) UnmarshalJSON(text []byte) (err error) {
	*p, err = state.ParsePaths(text)
	return err
}

// each converts a list; none stays none.
func each[A, B any](list []A, f func(A) B) []B {
	if list == nil {
		return nil
	}
	out := make([]B, len(list))
	for i, x := range list {
		out[i] = f(x)
	}
	return out
}

// encoder writes a plan. The first error is kept.
type encoder struct {
	plan   *plan.Plan
	types  []cty.Type
	codecs []schema.Codec
	number map[string]int // of types, by their JSON form
	last   int            // the number of the type used last: values of one type mostly come together
	values [][]byte       // the member values, in parts
	size   int            // of all parts
	err    error
}

// encode appends the body of a plan, and gives what the member values has, in parts.
func encode(out *bytes.Buffer, p *plan.Plan) (values [][]byte, err error) {
	e := &encoder{plan: p, number: map[string]int{}}
	h := head{
		Plan:    *p,
		Changes: len(p.Changes), Drift: len(p.Drift), Deferred: len(p.Deferred),
		Outputs:   each(p.Outputs, e.output),
		Variables: map[string]json.RawMessage{},
		Relevant:  each(p.Relevant, func(r plan.Relevant) relevant { return relevant{r, paths{r.Path}} }),
		Readings: each(p.Readings, func(r plan.Reading) json.RawMessage {
			return state.AppendObject(nil, r.Object, r.Entry)
		}),
	}
	h.Timestamp = p.Timestamp.UTC()
	for name, v := range p.Variables {
		text, err := schema.EncodeJSON(v.Value, cty.DynamicPseudoType)
		e.fail("var."+name, err)
		h.Variables[name] = text
	}
	w := json.NewEncoder(out)
	if e.err == nil {
		e.err = w.Encode(&h)
	}
	for _, list := range [][]*plan.Change{p.Changes, p.Drift, p.Deferred} {
		for _, c := range list {
			d := e.change(c)
			if e.err == nil {
				e.err = w.Encode(&d)
			}
		}
	}
	return e.values, e.err
}

// fail keeps the first error and says what it is about.
func (e *encoder) fail(about string, err error) {
	if err != nil && e.err == nil {
		e.err = fmt.Errorf("a value of %s cannot be stored in a plan: %w", about, err)
	}
}

func (e *encoder) change(c *plan.Change) change {
	about := c.Object.String()
	d := change{
		Change: *c,
		Before: e.value(about, c.Before), After: e.value(about, c.After),
		Identity: e.raw(about, c.Identity), BeforeIdentity: e.raw(about, c.BeforeIdentity),
		Entry:   e.entry(c),
		Replace: c.Replace, Sent: c.Sent,
	}
	if c.Was == c.Object {
		d.Was = addr.Object{}
	}
	if i := c.Importing; i != nil {
		d.Importing = &importing{*i, e.raw(about, i.Identity)}
	}
	return d
}

const (
	entryRefreshed = `"refreshed"`
	entryPrevious  = `"previous"`
)

// entry is the entry of a change: a place in one of the two states as a rule.
func (e *encoder) entry(c *plan.Change) json.RawMessage {
	switch c.Entry {
	case nil:
		return nil
	case e.plan.Refreshed.Get(c.Object):
		return json.RawMessage(entryRefreshed)
	case e.plan.Previous.Get(c.Was):
		return json.RawMessage(entryPrevious)
	}
	return state.AppendObject(nil, c.Object, c.Entry)
}

func (e *encoder) output(o *plan.OutputChange) output {
	about := "output." + o.Name
	return output{*o, e.value(about, o.Before), e.value(about, o.After)}
}

// value refuses what must never be stored. The message names the place, never the value.
func (e *encoder) value(about string, v mark.Value) value {
	d := e.raw(about, v.Raw)
	for _, m := range v.Marks {
		if m.Tag != mark.Sensitive {
			e.fail(about+", at "+mark.PathString(m.Path)+",", fmt.Errorf("it is %s; this is a bug in Lethe", m.Tag))
		}
		d.Sensitive = append(d.Sensitive, m.Path)
	}
	return d
}

// raw is a plain value of any type, or NilVal.
func (e *encoder) raw(about string, v cty.Value) value {
	if v == cty.NilVal {
		return value{}
	}
	d, err := e.typed(v.Type())
	if err == nil {
		var data []byte
		data, err = e.codecs[d.Type-1].Encode(v)
		d.At, d.Size = e.place(data)
	}
	e.fail(about, err)
	return d
}

// place puts what encodes a value into the member values, and says where it is. One that is as the last one, such as that
// after no change, is there once.
func (e *encoder) place(data []byte) (at, size int) {
	if n := len(e.values); n > 0 && bytes.Equal(e.values[n-1], data) {
		return e.size - len(data), len(data)
	}
	at = e.size
	e.values, e.size = append(e.values, data), e.size+len(data)
	return at, len(data)
}

// typed begins a value of a type.
func (e *encoder) typed(ty cty.Type) (value, error) {
	if e.last > 0 && e.types[e.last-1].Equals(ty) {
		return value{Type: e.last}, nil
	}
	text, err := ty.MarshalJSON()
	if err != nil {
		return value{}, err
	}
	var v value
	if e.last = e.number[string(text)]; e.last == 0 {
		e.types, e.codecs = append(e.types, ty), append(e.codecs, schema.CodecOf(ty))
		e.last, v.Of = len(e.types), ty
		e.number[string(text)] = e.last
	}
	v.Type = e.last
	return v, nil
}

// decoder reads a plan. The first error is kept.
type decoder struct {
	plan   *plan.Plan
	in     *json.Decoder
	values []byte // the member
	codecs []schema.Codec
	last   value // the value that was read last, and what it is
	was    cty.Value
	err    error
}

// decode reads the body, with the member values, into a plan that has its states already.
func decode(body, values []byte, p *plan.Plan) (err error) {
	defer func() {
		if x := recover(); x != nil { // from package cty, should it find a value impossible
			err = errors.New("its values contradict each other")
		}
	}()
	d := &decoder{plan: p, in: json.NewDecoder(bytes.NewReader(body)), values: values}
	d.in.DisallowUnknownFields()
	var h head
	if err := d.in.Decode(&h); err != nil {
		return err
	}
	h.Plan.Previous, h.Plan.Refreshed = p.Previous, p.Refreshed
	*p = h.Plan
	p.Outputs = each(h.Outputs, d.output)
	p.Relevant = each(h.Relevant, func(r relevant) plan.Relevant {
		if len(r.Path) != 1 {
			d.fail(errors.New("what it looked at has no place"))
			return r.Relevant
		}
		r.Relevant.Path = r.Path[0]
		return r.Relevant
	})
	p.Readings = each(h.Readings, func(text json.RawMessage) (r plan.Reading) {
		r.Object, r.Entry = d.object(text)
		return r
	})
	p.Variables = d.variables(h.Variables)
	p.Changes, p.Drift, p.Deferred = d.changes(h.Changes), d.changes(h.Drift), d.changes(h.Deferred)
	if _, end := d.in.Token(); d.err == nil && end != io.EOF {
		d.err = errors.New("something follows its end")
	}
	return d.err
}

func (d *decoder) variables(texts map[string]json.RawMessage) map[string]plan.Variable {
	out := map[string]plan.Variable{}
	for name, text := range texts {
		v, err := schema.DecodeJSON(text, cty.DynamicPseudoType)
		d.fail(err)
		out[name] = plan.Variable{Value: v}
	}
	return out
}

// changes reads the next n changes.
func (d *decoder) changes(n int) (list []*plan.Change) {
	for len(list) < n && d.err == nil {
		var c change
		if d.fail(d.in.Decode(&c)); d.err == nil {
			list = append(list, d.change(c))
		}
	}
	return list
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

func (d *decoder) change(c change) *plan.Change {
	x := &c.Change
	if (x.Was == addr.Object{}) {
		x.Was = x.Object
	}
	x.Before, x.After = d.value(c.Before), d.value(c.After)
	x.Identity, x.BeforeIdentity = d.raw(c.Identity), d.raw(c.BeforeIdentity)
	x.Replace, x.Sent = c.Replace, c.Sent
	x.Entry = d.entry(c)
	if i := c.Importing; i != nil {
		x.Importing = &i.Importing
		x.Importing.Identity = d.raw(i.Identity)
	}
	return x
}

// entry finds the entry of a change.
func (d *decoder) entry(c change) (entry *state.Entry) {
	switch string(c.Entry) {
	case "":
		return nil
	case entryRefreshed:
		entry = d.plan.Refreshed.Get(c.Object)
	case entryPrevious:
		entry = d.plan.Previous.Get(c.Was)
	default:
		_, entry = d.object(c.Entry)
	}
	if entry == nil {
		d.fail(fmt.Errorf("the state has no object %s", c.Object))
	}
	return entry
}

func (d *decoder) object(text json.RawMessage) (addr.Object, *state.Entry) {
	o, e, err := state.ParseObject(text)
	d.fail(err)
	return o, e
}

func (d *decoder) output(o output) *plan.OutputChange {
	x := &o.OutputChange
	x.Before, x.After = d.value(o.Before), d.value(o.After)
	return x
}

func (d *decoder) value(v value) mark.Value {
	return mark.Value{Raw: d.raw(v), Marks: mark.SensitiveAt(v.Sensitive)}
}

func (d *decoder) raw(v value) cty.Value {
	switch {
	case v.Type == 0:
		return cty.NilVal
	case v.Type == len(d.codecs)+1 && v.Of != cty.NilType:
		d.codecs = append(d.codecs, schema.CodecOf(v.Of))
	case v.Type < 0 || v.Type > len(d.codecs):
		d.fail(errors.New("a type is missing"))
		return cty.NilVal
	}
	if v.At < 0 || v.Size < 0 || v.Size > len(d.values) || v.At > len(d.values)-v.Size {
		d.fail(fmt.Errorf("a value is missing from the member %q", memberValues))
		return cty.NilVal
	}
	if v.Type == d.last.Type && v.At == d.last.At && v.Size == d.last.Size {
		return d.was // which has texts of many megabytes once
	}
	out, err := d.codecs[v.Type-1].Decode(d.values[v.At : v.At+v.Size])
	d.fail(err)
	d.last, d.was = v, out
	return out
}
