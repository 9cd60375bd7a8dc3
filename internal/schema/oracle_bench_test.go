//go:build oracle

package schema

import (
	"testing"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	ctymsgpack "github.com/zclconf/go-cty/cty/msgpack"
)

func BenchmarkLibraryEncode(b *testing.B) {
	shapes(b, func(b *testing.B, s *Block, v cty.Value) {
		for b.Loop() {
			ctymsgpack.Marshal(v, s.Type())
		}
	})
}

func BenchmarkLibraryDecode(b *testing.B) {
	shapes(b, func(b *testing.B, s *Block, v cty.Value) {
		data, _ := s.Encode(v)
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			ctymsgpack.Unmarshal(data, s.Type())
		}
	})
}

func BenchmarkLibraryEncodeJSON(b *testing.B) {
	shapes(b, func(b *testing.B, s *Block, v cty.Value) {
		for b.Loop() {
			ctyjson.Marshal(v, s.Type())
		}
	})
}

func BenchmarkLibraryDecodeJSON(b *testing.B) {
	shapes(b, func(b *testing.B, s *Block, v cty.Value) {
		data, _ := s.EncodeJSON(v)
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			ctyjson.Unmarshal(data, s.Type())
		}
	})
}
