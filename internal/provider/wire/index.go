package wire

import (
	"errors"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/provider/wire/wirepb"
)

// The answer to getSchema, which has all schemas of a provider, may have tens of megabytes, of which a configuration
// needs kilobytes. So the answer is not decoded, but indexed: one pass over its outermost fields (message
// GetProviderSchema.Response) records the position of each type's schema. The schemas stay slices of the answer.

// answer is the index of an answer to getSchema: its parts, still encoded, except for the diagnostics and capabilities.
type answer struct {
	config, meta []byte
	types        []rawType
	functions    []rawEntry
	diags        []*wirepb.Diagnostic
	capabilities wirepb.ServerCapabilities
}

// rawEntry is an entry of a protobuf map: the key, and the encoded value.
type rawEntry struct {
	name string
	raw  []byte
}

// rawType is the encoded schema of a type, with the mode of its resources.
type rawType struct {
	mode addr.Mode
	rawEntry
}

// Field numbers of GetProviderSchema.Response.
const (
	fieldConfig       = 1
	fieldResources    = 2
	fieldData         = 3
	fieldDiagnostics  = 4
	fieldMeta         = 5
	fieldCapabilities = 6
	fieldFunctions    = 7
	fieldEphemerals   = 8
	fieldLists        = 9
	fieldStores       = 10
	fieldActions      = 11
)

var modeOf = map[protowire.Number]addr.Mode{fieldResources: addr.Managed, fieldData: addr.Data, fieldEphemerals: addr.Ephemeral, fieldLists: addr.List, fieldStores: addr.StateStore, fieldActions: addr.Action}

// indexAnswer indexes an answer to getSchema. It returns an error if the answer is malformed.
func indexAnswer(raw []byte) (*answer, error) {
	a := new(answer)
	err := eachMessage(raw, func(n protowire.Number, m []byte) error {
		switch n {
		case fieldConfig:
			a.config = m
		case fieldMeta:
			a.meta = m
		case fieldResources, fieldData, fieldEphemerals, fieldLists, fieldStores:
			e, err := mapEntry(m)
			a.types = append(a.types, rawType{modeOf[n], e})
			return err
		case fieldActions:
			e, err := mapEntry(m)
			if err == nil {
				e.raw, err = actionSchema(e.raw)
			}
			a.types = append(a.types, rawType{addr.Action, e})
			return err
		case fieldFunctions:
			e, err := mapEntry(m)
			a.functions = append(a.functions, e)
			return err
		case fieldDiagnostics:
			d := new(wirepb.Diagnostic)
			a.diags = append(a.diags, d)
			return proto.Unmarshal(m, d)
		case fieldCapabilities:
			return proto.UnmarshalOptions{Merge: true}.Unmarshal(m, &a.capabilities)
		}
		return nil
	})
	return a, err
}

// actionSchema returns field 1 of an ActionSchema, the encoded schema.
func actionSchema(m []byte) (schema []byte, err error) {
	err = eachMessage(m, func(n protowire.Number, v []byte) error {
		if n == 1 {
			schema = v
		}
		return nil
	})
	return schema, err
}

// mapEntry decodes an entry of a map: field 1 is the key, field 2 the value.
func mapEntry(m []byte) (rawEntry, error) {
	var e rawEntry
	err := eachMessage(m, func(n protowire.Number, v []byte) error {
		switch n {
		case 1:
			if !utf8.Valid(v) {
				return errors.New("a name is not valid UTF-8")
			}
			e.name = string(v)
		case 2:
			e.raw = v
		}
		return nil
	})
	return e, err
}

// eachMessage calls visit for each field of a message that has a length: strings, bytes and messages. It returns an
// error if the message is malformed, and the first error of visit.
func eachMessage(b []byte, visit func(protowire.Number, []byte) error) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		if typ != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
				return protowire.ParseError(n)
			}
			b = b[n:]
			continue
		}
		v, n := protowire.ConsumeBytes(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		if err := visit(num, v); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}
