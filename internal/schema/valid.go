package schema

import (
	"errors"
	"fmt"

	"github.com/zclconf/go-cty/cty"
)

// Use is the purpose of a schema, such as a resource or a provider configuration.
type Use string

// The uses.
const (
	UseManaged   Use = "resource"
	UseData      Use = "data source"
	UseEphemeral Use = "ephemeral resource"
	UseList      Use = "list resource"
	UseAction    Use = "action"
	UseStore     Use = "state store"
	UseProvider  Use = "provider configuration"
)

// Valid returns an error if the schema violates the rules of the provider protocol. The functions of this package
// require a valid schema. If there is no other error, Valid also returns an error if a schema for another use than
// managed resources and actions has write-only attributes. Each line of the error names an attribute or a block.
func (b *Block) Valid(use Use) error {
	v := validator{use: use}
	v.block(b, "", false)
	if v.errs == nil {
		v.errs = v.misused
	}
	return errors.Join(v.errs...)
}

type validator struct {
	use           Use
	errs, misused []error
}

func (v *validator) add(place, format string, args ...any) {
	v.errs = append(v.errs, fmt.Errorf("%s: %s", place, fmt.Sprintf(format, args...)))
}

func within(place, name string) string {
	if place == "" {
		return name
	}
	return place + "." + name
}

// block checks a block. inSet is true if the block is inside a set.
func (v *validator) block(b *Block, place string, inSet bool) {
	seen := v.attrs(b.Attrs, place, inSet)
	for _, n := range b.Blocks {
		at := within(place, n.Name)
		v.name(n.Name, at, seen)
		v.count(n, at)
		if n.Nesting < Single || n.Nesting > Map {
			v.add(at, "invalid nesting mode")
		}
		if n.Block == nil {
			v.add(at, "the block has no schema")
			continue
		}
		if n.Nesting == Set && n.Block.Type().HasDynamicTypes() {
			v.add(at, "blocks in a set cannot contain attributes of dynamic type")
		}
		v.block(n.Block, at, inSet || n.Nesting == Set)
	}
}

func (v *validator) name(name, at string, seen map[string]bool) {
	if seen[name] {
		v.add(at, "the name is used twice")
	}
	seen[name] = true
}

// count checks the limits Min and Max of the number of blocks.
func (v *validator) count(n *Nested, at string) {
	switch {
	case n.Min < 0 || n.Max < 0:
		v.add(at, "the number of blocks cannot be negative")
	case n.Max > 0 && n.Min > n.Max:
		v.add(at, "at least %d blocks, but at most %d", n.Min, n.Max)
	case n.Nesting == Single && (n.Min > 1 || n.Max > 1):
		v.add(at, "there can be one block at most")
	case (n.Nesting == Group || n.Nesting == Map) && (n.Min != 0 || n.Max != 0):
		v.add(at, "the number of blocks cannot be limited in nesting mode %s", n.Nesting)
	}
}

func (v *validator) attrs(attrs []*Attr, place string, inSet bool) map[string]bool {
	seen := map[string]bool{}
	for _, a := range attrs {
		at := within(place, a.Name)
		v.name(a.Name, at, seen)
		v.flags(a, at, inSet)
		switch {
		case a.Object != nil:
			v.object(a, at, inSet)
		case a.Type == cty.NilType:
			v.add(at, "the attribute has no type")
		}
	}
	return seen
}

func (v *validator) flags(a *Attr, at string, inSet bool) {
	switch {
	case !a.Required && !a.Optional && !a.Computed:
		v.add(at, "the attribute is neither required nor optional nor computed")
	case a.Required && a.Optional:
		v.add(at, "the attribute cannot be both required and optional")
	case a.Required && a.Computed:
		v.add(at, "the attribute cannot be both required and computed")
	}
	if !a.WriteOnly {
		return
	}
	if v.use != UseManaged && v.use != UseAction {
		v.misused = append(v.misused, fmt.Errorf("%s: the %s cannot have write-only attributes: only managed resources can", at, v.use))
	}
	if a.Computed {
		v.add(at, "the attribute cannot be both write-only and computed, because it is not stored")
	}
	if inSet {
		v.add(at, "an attribute in a set cannot be write-only, because it identifies the element")
	}
}

func (v *validator) object(a *Attr, at string, inSet bool) {
	o := a.Object
	if o.Nesting == Group || o.Nesting < Single || o.Nesting > Map {
		v.add(at, "invalid nesting mode")
	}
	if o.Nesting != Single && a.Type != cty.NilType && a.Type.HasDynamicTypes() {
		v.add(at, "a collection of nested attributes cannot contain attributes of dynamic type")
	}
	writeOnly := 0
	for _, inner := range o.Attrs {
		if inner.WriteOnly {
			writeOnly++
		}
	}
	if a.WriteOnly && writeOnly > 0 && writeOnly < len(o.Attrs) {
		v.add(at, "the attribute is write-only, so either all or none of its nested attributes must be write-only")
	}
	// elements of a write-only set are not stored, so they need not be distinguished
	v.attrs(o.Attrs, at, inSet || o.Nesting == Set && !a.WriteOnly)
}
