package remotestore

import (
	"context"
	"net/url"
	"testing"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/storetest"
	"github.com/zclconf/go-cty/cty"
)

// hosts resolves every host to a service at one address.
type hosts struct{ base *url.URL }

func (h hosts) Service(context.Context, string, string) (*url.URL, error) { return h.base, nil }
func (h hosts) Token(context.Context, string) (string, error)             { return storetest.Credential, nil }

func TestRedirect(t *testing.T) {
	storetest.Redirects(t, `{"data":{"id":"ws-1"}}`, func(t *testing.T, address string) store.Store {
		base, err := url.Parse(address + "/api/v2/")
		if err != nil {
			t.Fatal(err)
		}
		config, err := Driver.Schema.Coerce(cty.ObjectVal(map[string]cty.Value{
			"organization": cty.StringVal("net"), "workspaces": cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal("a"), "prefix": cty.NullVal(cty.String)}),
		}))
		if err != nil {
			t.Fatal(err)
		}
		st, err := Driver.Open(t.Context(), store.Settings{Config: config, Schema: Driver.Schema, Hosts: hosts{base}})
		if err != nil {
			t.Fatal(err)
		}
		return st
	})
}
