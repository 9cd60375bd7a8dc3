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

// A saved plan is a zip archive. Its member tfplan has one line with the format, followed by the body. The body is
// JSON: a head, followed by one object for each change, for each change outside (drift) and for each deferred change.
// The head has the fields of plan.Plan under the names in their JSON tags. A field of the structs below replaces the
// field of the embedded struct with the same name. Values of attributes are not in the body but in the archive member
// "values", because as JSON each value would be in memory several times. The prior and the refreshed state are other
// members. If the form of the body changes, the constant format must be increased.

// head is the first JSON value of the body.
type head struct {
	plan.Plan
	Changes   int                        `json:"changes"` // number of change objects that follow the head; then Drift and Deferred objects follow
	Drift     int                        `json:"drift"`
	Deferred  int                        `json:"deferred"`
	Outputs   []output                   `json:"outputs"`
	Invoked   []invocation               `json:"invocations,omitempty"`
	Later     []invocation               `json:"later_invocations,omitempty"`
	Variables map[string]json.RawMessage `json:"variables"` // values with their types, in the form of cty/json, which keeps numbers exact
	Relevant  []relevant                 `json:"relevant"`
	Readings  []json.RawMessage          `json:"readings"` // in the form of state.AppendObject
}

type change struct {
	plan.Change
	Before         value           `json:"before,omitzero"`
	After          value           `json:"after,omitzero"`
	Identity       value           `json:"identity,omitzero"`
	BeforeIdentity value           `json:"before_identity,omitzero"`
	Entry          json.RawMessage `json:"entry,omitempty"` // "refreshed" or "previous" refers to the entry of the object in the state of this name; otherwise the entry itself, in the form of state.AppendObject
	Replace        paths           `json:"replace,omitzero"`
	Sent           paths           `json:"sent,omitzero"`
	Importing      *importing      `json:"importing,omitzero"`
}

type output struct {
	plan.OutputChange
	Before value `json:"before,omitzero"`
	After  value `json:"after,omitzero"`
}

type invocation struct {
	plan.Invocation
	Config value `json:"config"`
}

type importing struct {
	plan.Importing
	Identity value `json:"identity,omitzero"`
}

type relevant struct {
	plan.Relevant
	Path paths `json:"path"` // a path of attributes
}

// value refers to a value in the member "values". There the value has the MessagePack form of the provider protocol,
// which includes unknown values and their refinements. The zero value means cty.NilVal.
type value struct {
	Type      int      `json:"type"`        // number of the type of the value, from 1
	Of        cty.Type `json:"of,omitzero"` // the type itself, only in the first value of the type
	At        int      `json:"at,omitzero"` // offset of the encoded value in the member "values", in bytes
	Size      int      `json:"size,omitzero"`
	Sensitive paths    `json:"sensitive,omitempty"` // sensitive paths in the value; a saved plan has no other marks
}

// paths are paths in a value. Their JSON form is the form of sensitive paths in state files.
type paths []cty.Path

// MarshalJSON returns the paths in the JSON form of sensitive paths in state files. The error is always nil.
func (p paths) MarshalJSON() ([]byte, error) { return state.AppendPaths(nil, p), nil }

// UnmarshalJSON reads paths in the form of MarshalJSON. It returns an error for any other text.
func (p *paths) UnmarshalJSON(text []byte) (err error) {
	*p, err = state.ParsePaths(text)
	return err
}

// each returns the results of f for the elements of a list. For a nil list it returns nil.
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

// encoder converts a plan to the form of the body. It keeps the first error in err, and ignores later errors.
type encoder struct {
	plan   *plan.Plan
	types  []cty.Type
	codecs []schema.Codec
	number map[string]int // the number of each type, by the JSON form of the type
	last   int            // number of the last type: consecutive values often have the same type
	values [][]byte       // contents of the member "values", in parts
	size   int            // total size of the parts
	err    error
}

// encode appends the body of a plan to out. It returns the values of the plan, which the plan file has in a separate
// member (memberValues): the member is the concatenation of the returned parts. encode returns an error if a value
// cannot be encoded.
func encode(out *bytes.Buffer, p *plan.Plan) (values [][]byte, err error) {
	e := &encoder{plan: p, number: map[string]int{}}
	h := head{
		Plan:    *p,
		Changes: len(p.Changes), Drift: len(p.Drift), Deferred: len(p.Deferred),
		Outputs:   each(p.Outputs, e.output),
		Invoked:   each(p.Invocations, e.invocation),
		Later:     each(p.LaterInvocations, e.invocation),
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

// fail keeps the first error. The error names the object or output that has the value.
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

// entry returns the entry of a change: usually a reference to one of the two states, or nil if the change has no entry.
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

func (e *encoder) invocation(i *plan.Invocation) invocation {
	return invocation{*i, e.value(i.Action.String(), i.Config)}
}

// value encodes a value. It fails if the value has a mark that must not be stored. The message names the path, never
// the value.
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

// raw encodes a plain value of any type. For NilVal it returns the zero value. If the encoding fails, it records the
// error.
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

// place adds an encoded value to the member "values", and returns its position and its size in bytes. If it equals the
// last value, such as an unchanged after value, place does not add it again.
func (e *encoder) place(data []byte) (at, size int) {
	if n := len(e.values); n > 0 && bytes.Equal(e.values[n-1], data) {
		return e.size - len(data), len(data)
	}
	at = e.size
	e.values, e.size = append(e.values, data), e.size+len(data)
	return at, len(data)
}

// typed returns a value that has only the number of the type ty, and at the first use of ty also the type itself.
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

// decoder reads a plan from the form of the body. It keeps the first error in err, and ignores later errors.
type decoder struct {
	plan   *plan.Plan
	in     *json.Decoder
	values []byte // the contents of the archive member "values"
	codecs []schema.Codec
	last   value // the last value that was read; was is the decoded value
	was    cty.Value
	err    error
}

// decode reads the body and the contents of the member "values" into p, which already has its states. It returns an
// error if they cannot be decoded or do not fit the states.
func decode(body, values []byte, p *plan.Plan) (err error) {
	defer func() {
		if x := recover(); x != nil { // package cty panics for impossible values
			err = errors.New("its values are inconsistent")
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
	p.Invocations = each(h.Invoked, d.invocation)
	p.LaterInvocations = each(h.Later, d.invocation)
	p.Relevant = each(h.Relevant, func(r relevant) plan.Relevant {
		if len(r.Path) != 1 {
			d.fail(errors.New("the source of a value has no address"))
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
		d.err = errors.New("there is more data after its end")
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

// entry returns the state entry of a change, or nil if the change has none. If a change refers to an entry that the
// state lacks, decoding fails.
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

func (d *decoder) invocation(i invocation) *plan.Invocation {
	x := &i.Invocation
	x.Config = d.value(i.Config)
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
		return d.was // consecutive values that are equal share their memory, because a value may have texts of many megabytes
	}
	out, err := d.codecs[v.Type-1].Decode(d.values[v.At : v.At+v.Size])
	d.fail(err)
	d.last, d.was = v, out
	return out
}
