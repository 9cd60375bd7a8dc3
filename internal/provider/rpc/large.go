package rpc

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// An attribute may have 70 MB. Its value is a byte field of a message inside a message. Package rpc sends such fields
// without copying them, and decodes an answer without copying them from the receive buffer. Copies would use most of
// the memory of a command.

// large is the length, in bytes, from which a byte field is not copied, and from which a message is searched for such
// fields.
const large = 1 << 20

// inside is the maximum depth of the inner messages that are searched for long byte fields.
const inside = 3

// Pieces encodes a message. The encoding consists of the pieces in order. A long byte field is a separate piece that
// shares memory with the message, unless the field is repeated or lies deeper than inside.
func Pieces(m proto.Message) ([][]byte, error) {
	if proto.Size(m) >= large {
		return pieces(m.ProtoReflect(), inside)
	}
	b, err := proto.Marshal(m)
	return [][]byte{b}, err
}

// pieces returns the encoding of a large message in pieces, as Pieces does. It searches inner messages up to depth for
// long byte fields.
func pieces(m protoreflect.Message, depth int) ([][]byte, error) {
	small := m.Type().New()
	small.SetUnknown(m.GetUnknown())
	var out [][]byte
	var failed error
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		head := func(n int) []byte {
			return protowire.AppendVarint(protowire.AppendTag(nil, fd.Number(), protowire.BytesType), uint64(n))
		}
		switch {
		case fd.Cardinality() == protoreflect.Repeated:
			small.Set(fd, v)
		case fd.Kind() == protoreflect.BytesKind && len(v.Bytes()) >= large:
			out = append(out, head(len(v.Bytes())), v.Bytes())
		case fd.Kind() == protoreflect.MessageKind && depth > 0 && proto.Size(v.Message().Interface()) >= large:
			parts, err := pieces(v.Message(), depth-1)
			if failed = err; err != nil {
				return false
			}
			out = append(append(out, head(total(parts))), parts...)
		default:
			small.Set(fd, v)
		}
		return true
	})
	if failed != nil {
		return nil, failed
	}
	b, err := proto.Marshal(small.Interface())
	return append(out, b), err // the order of the fields does not change the meaning of the message
}

func total(pieces [][]byte) int {
	n := 0
	for _, p := range pieces {
		n += len(p)
	}
	return n
}

// Unmarshal decodes a message. Its long byte fields may share memory with b, so b must not be changed later.
func Unmarshal(b []byte, m proto.Message) error {
	proto.Reset(m)
	return unmarshal(b, m.ProtoReflect(), inside)
}

func unmarshal(b []byte, m protoreflect.Message, depth int) error {
	if len(b) < large || depth == 0 {
		return proto.UnmarshalOptions{Merge: true}.Unmarshal(b, m.Interface())
	}
	var small []byte
	fields := m.Descriptor().Fields()
	for len(b) > 0 {
		number, typ, tag := protowire.ConsumeTag(b)
		if tag < 0 {
			return protowire.ParseError(tag)
		}
		n := protowire.ConsumeFieldValue(number, typ, b[tag:])
		if n < 0 {
			return protowire.ParseError(n)
		}
		field := b[:tag+n]
		b = b[tag+n:]
		fd := fields.ByNumber(number)
		if n < large || typ != protowire.BytesType || fd == nil || fd.Cardinality() == protoreflect.Repeated {
			small = append(small, field...)
			continue
		}
		value, _ := protowire.ConsumeBytes(field[tag:])
		switch fd.Kind() {
		case protoreflect.BytesKind:
			m.Set(fd, protoreflect.ValueOfBytes(value[:len(value):len(value)]))
		case protoreflect.MessageKind:
			if err := unmarshal(value, m.Mutable(fd).Message(), depth-1); err != nil {
				return err
			}
		default:
			small = append(small, field...)
		}
	}
	return proto.UnmarshalOptions{Merge: true}.Unmarshal(small, m.Interface())
}
