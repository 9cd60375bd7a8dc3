package state

import (
	"fmt"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/jsontext"
)

// AppendObject appends one object as JSON without white space to dst. The JSON has the fields of an instance in a state
// file, and the address, the provider and the direct dependencies of the object. A nil entry means that the object does
// not exist. Journals contain this form.
func AppendObject(dst []byte, o addr.Object, entry *Entry) []byte {
	e := writer{jsontext.Writer{Buf: dst, Compact: true}}
	e.Open('{')
	e.KeyText("address", o.Instance.String())
	if entry == nil {
		if o.IsDeposed() {
			e.KeyText("deposed", o.Deposed)
		}
		e.KeyTrue("gone")
	} else {
		e.instance(slot{deposed: o.Deposed}, entry, entry.Provider.String(), func() { e.recorded(entry.Recorded) })
	}
	e.Close('}')
	return e.Buf
}

// ParseObject decodes the result of AppendObject. The entry is nil for an object that no longer exists. It refers to
// parts of data, which must not be changed afterwards. Any other data are an error.
func ParseObject(data []byte) (addr.Object, *Entry, error) {
	var p ObjectParser
	return p.Parse(data)
}

// ObjectParser decodes many results of AppendObject, and keeps equal parts in memory once. Its zero value is ready for
// use.
type ObjectParser struct{ r *reader }

// Parse reads one object in the form that AppendObject writes. The entry is nil for an object that no longer exists.
// Parse returns an error if data does not have this form.
func (p *ObjectParser) Parse(data []byte) (addr.Object, *Entry, error) {
	if p.r == nil {
		p.r = newReader(nil, nil)
	}
	r := p.r
	r.Scanner = jsontext.Scanner{In: data}
	n := instance{entry: r.entry()}
	f := &r.fields
	f.n = &n
	var address string
	removed := false
	r.Object(func(key []byte) {
		switch string(key) {
		case "address":
			address = string(r.Text())
		case "gone":
			removed = r.Boolean()
		default:
			f.read(key)
		}
	})
	f.done()
	if r.Err == nil && r.Peek() != 0 {
		r.Fail("there is more text after the end of the object")
	}
	if r.Err != nil {
		return addr.Object{}, nil, r.Err
	}
	i, err := addr.ParseInstance(address)
	o := addr.Object{Instance: i, Deposed: n.slot.deposed}
	switch {
	case err != nil:
		return addr.Object{}, nil, err
	case i.Mode == addr.Ephemeral:
		return addr.Object{}, nil, fmt.Errorf("%s is ephemeral and cannot be stored", o)
	case removed:
		return o, nil, nil
	case n.problem != "":
		return addr.Object{}, nil, fmt.Errorf("%s: %s", o, n.problem)
	case !n.provider:
		return addr.Object{}, nil, fmt.Errorf("%s: it names no provider", o)
	}
	return o, n.entry, nil
}
