package consulstore

import (
	"testing"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/storetest"
	"github.com/zclconf/go-cty/cty"
)

func TestRedirect(t *testing.T) {
	storetest.Redirects(t, "[]", func(t *testing.T, address string) store.Store {
		config, err := Driver.Schema.Coerce(cty.ObjectVal(map[string]cty.Value{
			"path": cty.StringVal("state"), "address": cty.StringVal(address), "access_token": cty.StringVal(storetest.Credential),
		}))
		if err != nil {
			t.Fatal(err)
		}
		st, err := Driver.Open(t.Context(), store.Settings{Config: config, Schema: Driver.Schema})
		if err != nil {
			t.Fatal(err)
		}
		return st
	})
}
