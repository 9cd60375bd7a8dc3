package provider

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/schema"
)

// NewSchemas makes an empty set, to be filled with Add and AddIdentity before it is shared.
func NewSchemas(config *schema.Schema) *Schemas {
	return &Schemas{
		Config:     config,
		Functions:  map[string]*Function{},
		types:      map[typeName]func() (*schema.Schema, error){},
		sound:      map[typeName]func() error{},
		config:     sync.OnceValue(func() error { return sound(schema.UseProvider, config) }),
		identities: map[string]func() (*Identity, error){},
	}
}

// Add adds a type. load returns its schema when it is first needed. An error of load is a fault of the schema, such as
// a forbidden combination, and is reported at each use of the type.
func (s *Schemas) Add(mode addr.Mode, name string, load func() (*schema.Schema, error)) {
	k, load := typeName{mode, name}, sync.OnceValues(load)
	s.types[k] = load
	s.sound[k] = sync.OnceValue(func() error {
		t, err := load()
		if err != nil {
			return err
		}
		return sound(uses[mode], t)
	})
}

// AddOwn adds a type of this program. Its schema is not checked. Unlike types of plugins, its data sources may have
// write-only arguments.
func (s *Schemas) AddOwn(mode addr.Mode, name string, t *schema.Schema) {
	k := typeName{mode, name}
	s.types[k] = func() (*schema.Schema, error) { return t, nil }
	s.sound[k] = func() error { return nil }
}

var uses = map[addr.Mode]schema.Use{addr.Managed: schema.UseManaged, addr.Data: schema.UseData, addr.Ephemeral: schema.UseEphemeral, addr.List: schema.UseList, addr.Action: schema.UseAction, addr.StateStore: schema.UseStore}

// sound returns an error with the rules of the protocol that a schema breaks, in one line.
func sound(use schema.Use, s *schema.Schema) error {
	if s == nil || s.Block == nil {
		return nil
	}
	err := s.Valid(use)
	if err == nil {
		return nil
	}
	return errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
}

// AddIdentity adds the identity schema of a managed type.
func (s *Schemas) AddIdentity(name string, load func() (*Identity, error)) {
	s.identities[name] = sync.OnceValues(load)
}

// Type returns the schema of a type; nil, nil if the provider has no such type.
func (s *Schemas) Type(mode addr.Mode, name string) (*schema.Schema, error) {
	load := s.types[typeName{mode, name}]
	if load == nil {
		return nil, nil
	}
	return load()
}

// Usable is Type for who is to work with objects of the type: it refuses a schema whose parts do not
// go together, such as write-only attributes in a set. Other types are not touched by that.
func (s *Schemas) Usable(mode addr.Mode, name string) (*schema.Schema, error) {
	t, err := s.Type(mode, name)
	if err != nil || t == nil {
		return nil, err
	}
	if err := s.sound[typeName{mode, name}](); err != nil {
		return nil, err
	}
	return t, nil
}

// UsableConfig refuses a provider's own settings for the same reasons.
func (s *Schemas) UsableConfig() error { return s.config() }

// Identity returns the identity schema of a managed type; nil, nil if it has none.
func (s *Schemas) Identity(name string) (*Identity, error) {
	load := s.identities[name]
	if load == nil {
		return nil, nil
	}
	return load()
}

// Types lists the names of the types of a mode, sorted.
func (s *Schemas) Types(mode addr.Mode) []string {
	var names []string
	for t := range s.types {
		if t.mode == mode {
			names = append(names, t.name)
		}
	}
	slices.Sort(names)
	return names
}

// Identities lists the managed types that have an identity, sorted.
func (s *Schemas) Identities() []string { return slices.Sorted(maps.Keys(s.identities)) }
