package rpc

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/typepb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// TestLarge checks that this package and package proto decode an encoded message to equal messages, and refuse the same
// malformed messages. It also checks that a long byte field is copied neither in encoding nor in decoding.
func TestLarge(t *testing.T) {
	text := bytes.Repeat([]byte("0123456789abcdef"), 3<<16)
	for name, m := range map[string]proto.Message{
		"bytes":      wrapperspb.Bytes(text),
		"in another": &typepb.Option{Name: "n", Value: &anypb.Any{TypeUrl: "u", Value: text}},
		"repeated":   &typepb.Type{Name: "n", Options: []*typepb.Option{{Name: "o", Value: &anypb.Any{Value: text}}}},
		"text":       wrapperspb.String(string(text)),
		"small":      wrapperspb.Bytes(text[:10]),
	} {
		parts, err := pieces(m.ProtoReflect(), inside)
		if err != nil {
			t.Fatal(name, err)
		}
		wire := slices.Concat(parts...)
		for _, wire := range [][]byte{wire, slices.Concat(wire, wire)} { // the same field occurs twice in the second message, and is merged
			want, got := m.ProtoReflect().New().Interface(), m.ProtoReflect().New().Interface()
			if err := proto.Unmarshal(wire, want); err != nil {
				t.Fatal(name, err)
			}
			if err := unmarshal(wire, got.ProtoReflect(), inside); err != nil || !proto.Equal(got, want) {
				t.Errorf("%s: %v, %.200v, want %.200v", name, err, got, want)
			}
		}
		if name == "in another" {
			var got typepb.Option
			if err := unmarshal(wire, got.ProtoReflect(), inside); err != nil {
				t.Fatal(err)
			}
			i := bytes.Index(wire, text)
			if &got.Value.Value[0] != &wire[i] {
				t.Error("the bytes were copied")
			}
			if !slices.ContainsFunc(parts, func(p []byte) bool { return len(p) == len(text) && &p[0] == &text[0] }) {
				t.Error("the bytes were copied to be sent")
			}
		}
		for range 50 { // both decoders refuse the same invalid messages
			cut := wire[:rand.IntN(len(wire))]
			want, got := m.ProtoReflect().New().Interface(), m.ProtoReflect().New().Interface()
			wrong := proto.Unmarshal(cut, want)
			if err := unmarshal(cut, got.ProtoReflect(), inside); (err == nil) != (wrong == nil) || err == nil && !proto.Equal(got, want) {
				t.Fatalf("%s, %d bytes: %v, want %v", name, len(cut), err, wrong)
			}
		}
	}
}
