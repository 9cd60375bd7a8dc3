package kubestore

import (
	"testing"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/storetest"
	"github.com/zclconf/go-cty/cty"
)

func TestRedirect(t *testing.T) {
	for name, credentials := range map[string]map[string]cty.Value{
		"token":    {"token": cty.StringVal(storetest.Credential)},
		"password": {"username": cty.StringVal("u"), "password": cty.StringVal(storetest.Credential)},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Redirects(t, "{}", func(t *testing.T, address string) store.Store {
				settings := map[string]cty.Value{"secret_suffix": cty.StringVal("state"), "host": cty.StringVal(address)}
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
			})
		})
	}
}
