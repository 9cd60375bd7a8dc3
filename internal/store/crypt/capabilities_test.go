package crypt

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"github.com/lethe-iac/lethe/internal/store"
)

// able is a store with all capabilities, and with a method that belongs to no capability.
type able struct{ store.Memory }

func (a *able) Smuggle() []byte { return []byte("a state in plain text") }

func (a *able) Capabilities() store.Capabilities {
	var out store.Capabilities
	for i, have := 0, reflect.ValueOf(&out).Elem(); i < have.NumField(); i++ {
		have.Field(i).Set(reflect.ValueOf(full(have.Field(i).Type())))
	}
	return out
}

// full returns a non-nil value of an interface type.
func full(t reflect.Type) any {
	return reflect.New(reflect.StructOf([]reflect.StructField{{Name: t.Name(), Type: t, Anonymous: true}})).Elem().Interface()
}

// TestCapabilitiesAreForwardedByName checks that the encrypting store forwards only the listed capabilities of the
// inner store: neither a new member of store.Capabilities nor other methods.
func TestCapabilitiesAreForwardedByName(t *testing.T) {
	listed := []string{
		"Breaker", "Files", "Place", "Policy", "Named", "Migrator", "NoEncryption", "Versioner", "Concurrent", // these capabilities transfer no states
		"History", "Rewriter", "Service", "Journals", "Disabled", "Cursor", "Presigner", // these capabilities transfer states in their encrypted form
		"Sealer", // the encrypting store implements Sealer without the inner store
	}
	var inner store.Store = &able{}
	if f := inner.Capabilities().Files; f == nil {
		t.Fatal("the store within lacks something")
	}
	outer := Around(inner, nil)
	have := reflect.ValueOf(outer.Capabilities())
	for i := range have.NumField() {
		if name := have.Type().Field(i).Name; have.Field(i).IsNil() == slices.Contains(listed, name) {
			t.Errorf("%s: forwarded %v", name, !have.Field(i).IsNil())
		}
	}
	if _, smuggles := any(outer).(interface{ Smuggle() []byte }); smuggles {
		t.Error("methods of the store within can be called")
	}
	if outer.Capabilities().Sealer != store.Sealer(outer) {
		t.Error("it does not seal itself")
	}
	if err := outer.Delete(context.Background(), "w"); err != nil {
		t.Error(err)
	}
}
