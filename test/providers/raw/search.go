package raw

import (
	"bytes"
	"context"
	"fmt"
	"math/big"
	"os"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// searchBlock is the schema of the list resource rogue_thing. The argument stream has the faults of the stream.
func searchBlock() *block {
	return &block{Attributes: []*attribute{
		optional("name", text), optional("misbehave", text), optional("results", number), optional("stream", text),
		{Name: "token", Type: text, Optional: true},
	}}
}

func (r *rogue) ValidateListResourceConfig(ctx context.Context, q *tfprotov6.ValidateListResourceConfigRequest) (*tfprotov6.ValidateListResourceConfigResponse, error) {
	sc := r.scene(r.schemas.lists[q.TypeName], q.Config, "ValidateListResourceConfig", "ValidateList")
	return play(ctx, r, sc, func() (*tfprotov6.ValidateListResourceConfigResponse, error) {
		a := &tfprotov6.ValidateListResourceConfigResponse{}
		sc.diags = &a.Diagnostics
		return a, nil
	})
}

// ListResource invents results. Each word of the argument stream is a fault: the word alone is a fault of every result,
// and word@N a fault of the N-th. The README lists them.
func (r *rogue) ListResource(ctx context.Context, q *tfprotov6.ListResourceRequest) (*tfprotov6.ListResourceServerStream, error) {
	sc := r.scene(r.schemas.lists[q.TypeName], q.Config, "ListResource", "List")
	return play(ctx, r, sc, func() (*tfprotov6.ListResourceServerStream, error) {
		attrs := look(sc.config)
		n, limit := 3, int(q.Limit)
		if v, ok := attrs["results"]; ok && !v.IsNull() {
			var f big.Float
			_ = v.As(&f)
			i, _ := f.Int64()
			n = int(i)
		}
		faults := strings.Fields(str(attrs, "stream"))
		has := func(word string, i int) bool {
			for _, f := range faults {
				if f == word || f == fmt.Sprintf("%s@%d", word, i) {
					return true
				}
			}
			return false
		}
		return &tfprotov6.ListResourceServerStream{Results: func(push func(tfprotov6.ListResourceResult) bool) {
			for i := 1; (i <= n || has("endless", 0)) && (i <= limit || has("beyond", 0)); i++ {
				switch {
				case has("exit", i):
					os.Exit(3)
				case has("hang", i):
					<-ctx.Done()
					return
				case has("deaf", i):
					select {}
				case has("nothing", i):
					if !push(tfprotov6.ListResourceResult{}) {
						return
					}
				}
				if !push(r.result(i, sc.secret, q.IncludeResource, has)) {
					return
				}
			}
		}}, nil
	})
}

// result returns result i, counted from 1, with the faults that result i must have. has(fault, i) reports whether it
// must have a fault. If whole is true, the result includes the object. secret is the secret that some faults disclose.
func (r *rogue) result(i int, secret string, whole bool, has func(string, int) bool) tfprotov6.ListResourceResult {
	id := fmt.Sprintf("thing-%d", i)
	out := tfprotov6.ListResourceResult{DisplayName: "Thing " + strconv.Itoa(i)}
	if has("secret-identity", i) {
		id = secret
	}
	out.Identity, _ = identityOf(id)
	t := r.schemas.resources["rogue_thing"].ValueType().(tftypes.Object)
	attrs := map[string]tftypes.Value{}
	for name, at := range t.AttributeTypes {
		attrs[name] = tftypes.NewValue(at, nil)
	}
	attrs["disk"] = tftypes.NewValue(t.AttributeTypes["disk"], []tftypes.Value{})
	attrs["id"], attrs["name"], attrs["value"] = tftypes.NewValue(text, id), tftypes.NewValue(text, "n"+strconv.Itoa(i)), tftypes.NewValue(text, "v")
	for word, deed := range map[string]func(){
		"secret-name":   func() { out.DisplayName = "name " + secret },
		"secret-object": func() { attrs["leaked"] = tftypes.NewValue(text, secret) },
		"wo":            func() { attrs["secret_wo"] = tftypes.NewValue(text, secret) },
		"unknown":       func() { attrs["value"] = tftypes.NewValue(text, tftypes.UnknownValue) },
		"big":           func() { attrs["value"] = tftypes.NewValue(text, strings.Repeat("x", 4<<20)) },
		"control":       func() { out.DisplayName = "a\x1b[2Jb\nc" },
		"long":          func() { out.DisplayName = strings.Repeat("long ", 1<<18) },
		"no-identity":   func() { out.Identity = nil },
		"null-identity": func() { out.Identity.IdentityData = &tfprotov6.DynamicValue{MsgPack: []byte{0xc0}} },
		"empty-identity": func() {
			out.Identity.IdentityData = &tfprotov6.DynamicValue{MsgPack: append([]byte{0x81, 0xa0 + byte(len(identityName))}, identityName+"\xc0"...)}
		},
		"bad-identity": func() { out.Identity.IdentityData = &tfprotov6.DynamicValue{MsgPack: []byte{0xc3}} },
		"warning": func() {
			out.Diagnostics = []*tfprotov6.Diagnostic{{Severity: 2, Summary: "careful " + strconv.Itoa(i)}}
		},
		"error": func() { out.Diagnostics = []*tfprotov6.Diagnostic{{Severity: 1, Summary: "failed " + strconv.Itoa(i)}} },
	} {
		if has(word, i) {
			deed()
		}
	}
	if !whole {
		return out
	}
	v, err := tfprotov6.NewDynamicValue(t, tftypes.NewValue(t, attrs))
	if err != nil {
		panic(err)
	}
	if out.Resource = &v; has("wrong", i) {
		out.Resource = &tfprotov6.DynamicValue{MsgPack: bytes.Repeat([]byte{0x93}, 3)}
	}
	if has("no-object", i) {
		out.Resource = nil
	}
	return out
}
