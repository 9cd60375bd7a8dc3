package wire

import (
	"bytes"
	"encoding/binary"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/provider"
)

// Kept is where the answers of a provider about its schemas stay from one command to the next. What
// is stored is good for the same package in the same circumstances only; an implementation sees
// to that, and that Load gives all of what was stored, or nil. Answers are stored if they gave no
// diagnostics and if the provider does not rely on being asked (SchemaOptional).
type Kept interface {
	// Load gives what was stored, nil if that is nothing.
	Load() []byte
	// Store keeps answers for other commands.
	Store(answers []byte)
}

// kept is what was kept; nil if that is nothing, or cannot be used.
func (c *client) kept() *provider.Schemas {
	if c.opts.Kept == nil {
		return nil
	}
	raw, ok := decodeKept(c.opts.Kept.Load())
	if !ok || raw.major != c.major {
		return nil
	}
	s, ds := c.decodeAnswers(raw)
	if len(ds) > 0 {
		return nil
	}
	return s
}

// Described is what provider.Schemas.Part has written of a provider; nil if that cannot be used.
func Described(part []byte, p addr.Provider) *provider.Schemas {
	raw, ok := decodeKept(part)
	if !ok || tables[raw.major] == nil {
		return nil
	}
	c := &client{major: raw.major, methods: tables[raw.major], addr: p}
	s, ds := c.decodeAnswers(raw)
	if ds.HasErrors() {
		return nil
	}
	return s
}

// answers are what a provider answers to getSchema and to getIdentities, encoded.
type answers struct {
	major               int // of the protocol
	schemas, identities []byte
}

// encode writes the version of the protocol, the length of the first answer, and both.
func (a answers) encode() []byte {
	b := binary.AppendUvarint(make([]byte, 0, len(a.schemas)+len(a.identities)+32), uint64(a.major))
	b = binary.AppendUvarint(b, uint64(len(a.schemas)))
	return append(append(b, a.schemas...), a.identities...)
}

func appendMessage(b []byte, n protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), m)
}

// decodeKept undoes encode.
func decodeKept(b []byte) (answers, bool) {
	major, n := binary.Uvarint(b)
	size, m := binary.Uvarint(b[max(n, 0):])
	if n <= 0 || m <= 0 || size > uint64(len(b)-n-m) {
		return answers{}, false
	}
	b = b[n+m:]
	return answers{int(major), b[:size], b[size:]}, true
}

// fieldIdentity is the field of GetResourceIdentitySchemas.Response that has the schemas.
const fieldIdentity = 1

// part is the answers with the types that are to be kept alone, in an order of their own: providers
// answer in another one each time.
func (a answers) part(keep func(addr.Mode, string) bool) answers {
	return answers{
		major: a.major,
		schemas: filtered(a.schemas, func(n protowire.Number, name func() string) bool {
			mode, isType := modeOf[n]
			return n != fieldDiagnostics && (!isType || keep(mode, name()))
		}),
		identities: filtered(a.identities, func(n protowire.Number, name func() string) bool {
			return n == fieldIdentity && keep(addr.Managed, name())
		}),
	}
}

// filtered is a message with some of the messages in it, sorted. name is the key of one that is an
// entry of a map.
func filtered(message []byte, keep func(n protowire.Number, name func() string) bool) []byte {
	var fields [][]byte
	_ = eachMessage(message, func(n protowire.Number, m []byte) error { // it was read before
		name := func() string {
			e, _ := mapEntry(m)
			return e.name
		}
		if keep(n, name) {
			fields = append(fields, appendMessage(nil, n, m))
		}
		return nil
	})
	slices.SortFunc(fields, bytes.Compare)
	return bytes.Join(fields, nil)
}
