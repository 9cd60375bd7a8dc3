package httpstore

import (
	"testing"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/storetest"
	"github.com/zclconf/go-cty/cty"
)

func TestRedirects(t *testing.T) {
	storetest.Redirects(t, "{}", func(t *testing.T, address string) store.Store {
		st, err := Driver.Open(t.Context(), store.Settings{Config: config(t, map[string]cty.Value{
			"address": cty.StringVal(address), "lock_address": cty.StringVal(address + "/lock"), "username": cty.StringVal("u"), "password": cty.StringVal("p"),
			"headers": cty.MapVal(map[string]cty.Value{"Private-Token": cty.StringVal(storetest.Credential)}), "retry_max": cty.NumberIntVal(0),
		})})
		if err != nil {
			t.Fatal(err)
		}
		return st
	})
}
