package stores

import (
	"net/http"
	"testing"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/crypt"
	"github.com/lethe-iac/lethe/internal/store/storetest"
	"github.com/zclconf/go-cty/cty"
)

// encrypted opens a store with a separately derived key, as another process does.
func encrypted(t *testing.T, open func() store.Store) func() store.Store {
	return func() store.Store {
		provider, _ := crypt.ProviderKinds.Find("pbkdf2")
		set, err := provider.Schema.Coerce(cty.ObjectVal(map[string]cty.Value{"passphrase": cty.StringVal("correct horse battery staple"), "iterations": cty.NumberIntVal(200_000)}))
		check(t, err)
		keys, err := provider.Make(store.Settings{Config: set, Schema: provider.Schema})
		check(t, err)
		gcm, _ := crypt.MethodKinds.Find("aes_gcm")
		set, err = gcm.Schema.Coerce(cty.EmptyObjectVal)
		check(t, err)
		method, err := gcm.Make(store.Settings{Config: set})
		check(t, err)
		c := &crypt.Cipher{Name: "m", Method: method, Keys: &crypt.Source{Name: "k", Meta: "k", Provider: keys}}
		return crypt.Around(open(), &crypt.Target{Block: "state", Write: c, Read: []*crypt.Cipher{c}})
	}
}

// TestEncrypted runs the contract of stores on a store that encrypts and wraps a remote store.
func TestEncrypted(t *testing.T) {
	t.Parallel()
	settings := map[string]cty.Value{"use_lockfile": cty.True}
	t.Run("contract", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) func() store.Store {
			return encrypted(t, s3Opener(t, s3Settings(startS3(t, plain), settings)))
		})
	})
	t.Run("cut", func(t *testing.T) {
		storetest.RunInterrupted(t, func(t *testing.T) (func() store.Store, storetest.Breaks) {
			c := &storetest.Interrupter{}
			url := startS3(t, func(h http.Handler) http.Handler {
				c.Handler = h
				return c
			})
			return encrypted(t, s3Opener(t, s3Settings(url, settings))), c
		})
	})
}
