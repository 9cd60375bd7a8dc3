package run

import (
	"context"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// Types makes the object.Type (the schema) of each resource type, and makes each only once in a walk (plan, apply or
// query). Its methods may be called concurrently.
type Types struct {
	pool    *provider.Pool
	program *program.Program

	mu sync.Mutex
	of map[typeKey]*object.Type
}

type typeKey struct {
	provider addr.Provider
	mode     addr.Mode
	name     string
	meta     bool        // the module of the resource has a provider_meta block
	module   addr.Module // the module of the resource if meta is true, otherwise zero
}

func newTypes(pool *provider.Pool, p *program.Program) *Types {
	return &Types{pool: pool, program: p, of: map[typeKey]*object.Type{}}
}

// Of returns the type of the objects of res. If the schemas of the provider cannot be loaded, or the schema of the type
// is missing or unusable, Of adds an error and returns nil. The parameter about is the instance that errors about the
// type name. If bag has errors and res is declared, Of does not report a missing type, because an earlier error has
// reported the declaration.
func (t *Types) Of(ctx context.Context, bag *diag.Bag, p addr.Provider, res addr.Resource, about addr.Instance) *object.Type {
	k := typeKey{provider: p, mode: res.Mode, name: res.Type}
	meta := t.program.Meta(res.Module, p)
	if meta != cty.NilVal {
		k.meta, k.module = true, res.Module
	}
	t.mu.Lock()
	known := t.of[k]
	t.mu.Unlock()
	if known != nil {
		return known
	}
	schemas, ds := t.pool.Schemas(ctx, p)
	if bag.Add(ds...); ds.HasErrors() {
		return nil
	}
	sch, err := schemas.Usable(res.Mode, res.Type)
	if err != nil {
		bag.Add(diag.Errorf("Invalid provider schema", "The schema of %s %s in provider %s cannot be used: %s.\n\nThis is a bug in the provider. Report it to its developers.", res.Mode.Block(), res.Type, p.ForDisplay(), err).About(about))
		return nil
	}
	if _, declared := t.program.Resource(res); sch == nil && declared && bag.HasErrors() {
		return nil // an earlier error has reported the declaration
	}
	if sch == nil {
		bag.Add(diag.Errorf("Invalid resource type", "Provider %s does not support the %s type %q of an object in the state. Select a version of the provider that supports it, or remove the object from the state with `lethe state rm`.", p.ForDisplay(), noun(res.Mode), res.Type).About(about))
		return nil
	}
	identity, _ := schemas.Identity(res.Type)
	made := &object.Type{Schema: sch, Name: res.Type, Mode: res.Mode, Identity: identity}
	if meta != cty.NilVal {
		made.Meta.Msgpack, _ = schema.Encode(meta, schemas.Meta.Type()) // constants, already converted to the schema
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if have := t.of[k]; have != nil {
		return have
	}
	t.of[k] = made
	return made
}

// noun returns the name for a mode's resources in messages.
func noun(m addr.Mode) string {
	switch m {
	case addr.Data:
		return "data source"
	case addr.Ephemeral:
		return "ephemeral resource"
	}
	return "resource"
}
