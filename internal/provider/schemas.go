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

// NewSchemas returns a Schemas without types. config is the schema of the provider's settings. The caller adds types
// with Add and AddIdentity before other goroutines use the Schemas.
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

// Add adds a type. load returns the schema of the type, and is called once, when the schema is first needed. An error
// of load means that the schema is invalid. Each use of the type reports it.
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

// AddOwn adds a type of a built-in provider. Its schema is not checked, because it may break a rule of the protocol:
// data sources of built-in providers may have write-only arguments.
func (s *Schemas) AddOwn(mode addr.Mode, name string, t *schema.Schema) {
	k := typeName{mode, name}
	s.types[k] = func() (*schema.Schema, error) { return t, nil }
	s.sound[k] = func() error { return nil }
}

var uses = map[addr.Mode]schema.Use{addr.Managed: schema.UseManaged, addr.Data: schema.UseData, addr.Ephemeral: schema.UseEphemeral, addr.List: schema.UseList, addr.Action: schema.UseAction, addr.StateStore: schema.UseStore}

// sound returns an error with the rules of the protocol that a schema breaks, in one line. It returns nil if the schema
// breaks no rule, or is nil.
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

// AddIdentity adds the identity schema of a managed type. load returns the schema; it is called once, when the schema
// is first used.
func (s *Schemas) AddIdentity(name string, load func() (*Identity, error)) {
	s.identities[name] = sync.OnceValues(load)
}

// Type returns the schema of a type. It returns nil and no error if the provider has no such type.
func (s *Schemas) Type(mode addr.Mode, name string) (*schema.Schema, error) {
	load := s.types[typeName{mode, name}]
	if load == nil {
		return nil, nil
	}
	return load()
}

// Usable returns the schema of a type, for callers that work with objects of the type. It returns nil and no error if
// the provider has no such type. It returns an error if the schema is invalid or breaks a rule of the protocol, such as
// a write-only attribute in a set. Errors in other types have no effect.
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

// UsableConfig returns an error if the schema of the provider's settings breaks a rule of the protocol.
func (s *Schemas) UsableConfig() error { return s.config() }

// Identity returns the identity schema of a managed type. It returns nil and no error if the type has no identity
// schema.
func (s *Schemas) Identity(name string) (*Identity, error) {
	load := s.identities[name]
	if load == nil {
		return nil, nil
	}
	return load()
}

// Types returns the names of the types of a mode, sorted.
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

// Identities returns the names of the managed types that have an identity schema, sorted.
func (s *Schemas) Identities() []string { return slices.Sorted(maps.Keys(s.identities)) }
