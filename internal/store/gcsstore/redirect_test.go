package gcsstore

import (
	"encoding/base64"
	"testing"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/storetest"
	"github.com/zclconf/go-cty/cty"
)

func TestRedirect(t *testing.T) {
	key := base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdef"))
	for name, credentials := range map[string]map[string]cty.Value{
		"token":      {"access_token": cty.StringVal(storetest.Credential)},
		"encryption": {"access_token": cty.StringVal("t"), "encryption_key": cty.StringVal(key)},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Redirects(t, `{"generation": "1"}`, func(t *testing.T, address string) store.Store {
				settings := map[string]cty.Value{"bucket": cty.StringVal("states"), "storage_custom_endpoint": cty.StringVal(address)}
				for k, v := range credentials {
					settings[k] = v
				}
				config, err := Driver.Schema.Coerce(cty.ObjectVal(settings))
				if err != nil {
					t.Fatal(err)
				}
				st, err := Driver.Open(t.Context(), store.Settings{Config: config, Schema: Driver.Schema})
				if err != nil {
					t.Fatal(err)
				}
				return st
			}, key)
		})
	}
}
