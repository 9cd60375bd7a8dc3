package object

import (
	"context"
	"strings"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object/guard"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/zclconf/go-cty/cty"
)

// Found is the result of Tools.Search.
type Found struct {
	By     string // the identity or id in the request, for messages: `identity name = "a"`, or `id "a"`
	Exists bool   // false also if the provider returned an error
	ID     string // the attribute id of the object; "" if the type has no such attribute, or if the attribute is sensitive
}

// Search asks the provider for an object that an interrupted run may have created. c is a plan to create the object
// again. Search imports and reads the object by the identity or the id in c, and returns no entry for the state. Search
// does not report errors of the provider, because most providers return an error if the object does not exist.
//
// The second result is false if Search made no request, because c has no known id and lacks a required attribute of the
// identity. For example, the id of a virtual machine is known only after its creation.
func (t *Tools) Search(ctx context.Context, c *plan.Change, s Stored) (Found, bool) {
	var out Found
	identity, id := plannedIdentity(t, c), ""
	switch planned := attribute(c.After.Raw, "id"); {
	case identity != cty.NilVal:
		out.By = "identity " + identityAttrs(identity, guard.SensitiveTexts(c.After))
	case planned != cty.NilVal && planned.Type() == cty.String && planned.AsString() != "":
		id, out.By = planned.AsString(), "id "+guard.IdentityText(planned, guard.SensitiveTexts(c.After))
	default:
		return out, false
	}
	silent := &Tools{
		Object: t.Object, Provider: t.Provider, Type: t.Type, Bag: &diag.Bag{},
		Walk: &Walk{Token: t.Walk.Token, Guard: t.Walk.Guard.Apart()},
	}
	entry, known, ok := silent.Import(ctx, id, identity, s)
	if ok {
		entry, known, ok = silent.Read(ctx, entry, known)
	}
	if out.Exists = ok && entry != nil; out.Exists {
		v, _ := silent.Value(entry, known)
		v.Marks = mark.Union(v.Marks, c.After.Marks)
		if name, id := t.Type.Shown(v); name == "id" {
			out.ID = id
		}
	}
	return out, true
}

// plannedIdentity returns the identity of an object that a plan creates. If the planned identity lacks an attribute,
// plannedIdentity uses the attribute with the same name of the planned object. It returns NilVal if a required
// attribute is missing, or if no attribute is required.
func plannedIdentity(t *Tools, c *plan.Change) cty.Value {
	if t.Type.Identity == nil {
		return cty.NilVal
	}
	attrs, required := map[string]cty.Value{}, false
	for _, a := range t.Type.Identity.Attrs {
		v := attribute(c.Identity, a.Name)
		if v == cty.NilVal {
			v = attribute(c.After.Raw, a.Name)
		}
		switch {
		case v != cty.NilVal && v.Type().Equals(a.Type):
			required = required || a.Required
		case a.Required:
			return cty.NilVal
		default:
			v = cty.NullVal(a.Type)
		}
		attrs[a.Name] = v
	}
	if !required {
		return cty.NilVal
	}
	return cty.ObjectVal(attrs)
}

// attribute returns an attribute of an object, or NilVal if it is missing, null or not wholly known.
func attribute(obj cty.Value, name string) cty.Value {
	if v, ok := ctyvalue.Attribute(obj, name); ok && !v.IsNull() && v.IsWhollyKnown() {
		return v
	}
	return cty.NilVal
}

// identityAttrs formats the set attributes of an identity: `name = "a", region = "b"`. hidden has the sensitive texts,
// which are not shown.
func identityAttrs(identity cty.Value, hidden map[string]bool) string {
	var out []string
	for it := identity.ElementIterator(); it.Next(); {
		if k, v := it.Element(); !v.IsNull() {
			out = append(out, k.AsString()+" = "+guard.IdentityText(v, hidden))
		}
	}
	return strings.Join(out, ", ")
}
