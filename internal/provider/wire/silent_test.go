package wire_test

import (
	"bytes"
	"context"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/providertest"
	"github.com/lethe-iac/lethe/internal/provider/wire"
	"github.com/lethe-iac/lethe/internal/provider/wire/wiretest"
)

// TestUnanswered checks changes that fail. If the provider returned an error status or the answer cannot be read, the
// change may have been made. If the provider does not have the call, or the request was not sent, it was not made.
func TestUnanswered(t *testing.T) {
	each(t, func(t *testing.T, dial dial) {
		for name, c := range map[string]struct {
			handler wiretest.Handler
			private []byte
			want    bool
			part    string // a text that the error message must contain
		}{
			"has an error for an answer":              {handler: wiretest.Fail(codes.Unknown, "kaputt"), want: true, part: "kaputt"},
			"is unknown":                              {handler: wiretest.Fail(codes.Unimplemented, "unknown method"), part: "does not support"},
			"is too large":                            {private: make([]byte, 2000), part: "was not sent"},
			"has garbage for an answer":               {handler: func(context.Context, []byte) ([]byte, error) { return []byte("\xff\xff\xff"), nil }, want: true, part: "malformed"},
			"has an answer that is too large":         {handler: func(context.Context, []byte) ([]byte, error) { return bytes.Repeat([]byte{0}, 2000), nil }, want: true, part: "The answer"},
			"has an answer that it cannot send":       {handler: wiretest.Fail(codes.ResourceExhausted, "trying to send message larger than max (300000000 vs. 268435456)"), want: true, part: "The answer"},
			"has an answer that an older cannot send": {handler: wiretest.Fail(codes.ResourceExhausted, "grpc: trying to send message larger than max (300000000 vs. 268435456)"), want: true, part: "The answer"},
			"has an answer that it cannot encode":     {handler: wiretest.Fail(codes.Internal, "grpc: error while marshaling: string field contains invalid UTF-8"), want: true, part: "invalid UTF-8"},
			"has an answer that is broken off":        {handler: wiretest.Fail(codes.Internal, "stream terminated by RST_STREAM with error code: INTERNAL_ERROR"), want: true, part: "RST_STREAM"},
			"has an answer without an end":            {handler: wiretest.Fail(codes.Internal, "server closed the stream without sending trailers"), want: true, part: "trailers"},
		} {
			t.Run(name, func(t *testing.T) {
				s := &wiretest.Server{Major: 6, Provider: &providertest.Fake{}}
				if c.handler != nil {
					s.Handlers = map[string]wiretest.Handler{"ApplyResourceChange": c.handler}
				}
				p := wire.Client(dial(t, s, 1000), 6, playground, wire.Options{})
				resp, ds := p.Apply(t.Context(), provider.ApplyRequest{Type: "a_thing", Private: c.private})
				if len(ds) != 1 || resp.Unanswered != c.want {
					t.Fatalf("unanswered: %v, %v", resp.Unanswered, ds)
				}
				checkDiagnostic(t, ds[0], ds[0].Summary, c.part)
			})
		}
	})
}
