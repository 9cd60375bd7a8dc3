package wire

import (
	"bytes"
	"encoding/binary"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/lethe-iac/lethe/internal/addr"
)

// answers are the encoded answers of a provider to the calls getSchema (schemas) and getIdentities (identities).
type answers struct {
	major               int // major version of the protocol
	schemas, identities []byte
}

// encode encodes the answers: the version of the protocol, the length of the first answer, and both answers.
func (a answers) encode() []byte {
	b := binary.AppendUvarint(make([]byte, 0, len(a.schemas)+len(a.identities)+32), uint64(a.major))
	b = binary.AppendUvarint(b, uint64(len(a.schemas)))
	return append(append(b, a.schemas...), a.identities...)
}

func appendMessage(b []byte, n protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), m)
}

// decodeKept decodes the result of encode. It returns false if b is malformed.
func decodeKept(b []byte) (answers, bool) {
	major, n := binary.Uvarint(b)
	size, m := binary.Uvarint(b[max(n, 0):])
	if n <= 0 || m <= 0 || size > uint64(len(b)-n-m) {
		return answers{}, false
	}
	b = b[n+m:]
	return answers{int(major), b[:size], b[size:]}, true
}

// fieldIdentity is the number of the field of GetResourceIdentitySchemas.Response that has the schemas.
const fieldIdentity = 1

// part returns the answers with only the types for which keep returns true. It sorts the fields, because providers send
// them in a different order in each answer.
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

// filtered returns a message with the inner messages for which keep returns true, sorted. name returns the key of an
// inner message that is an entry of a map.
func filtered(message []byte, keep func(n protowire.Number, name func() string) bool) []byte {
	var fields [][]byte
	_ = eachMessage(message, func(n protowire.Number, m []byte) error { // ignore the error: an earlier call of eachMessage with this message succeeded
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
