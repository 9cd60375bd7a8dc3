package audit

import (
	"maps"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/zclconf/go-cty/cty"
)

// format has the names in the format of states that are long enough to be a secret.
var format = []string{
	"terraform_version", "resources", "instances", "schema_version", "attributes", "attributes_flat", "sensitive_attributes",
	"dependencies", "create_before_destroy", "index_key", "identity_schema_version", "check_results", "object_kind",
	"config_addr", "object_addr", "failure_messages", "get_attr",
}

// names returns the names that a copy of the state needs: without them, the copy cannot be read, or its objects have
// other addresses or attributes. Keys of instances are not among the names.
func (x *examination) names() []string {
	all := map[string]bool{}
	for _, name := range format {
		all[name] = true
	}
	for _, u := range x.units {
		if u.object == (addr.Object{}) {
			_, name, _ := strings.Cut(u.name, ".")
			all[name] = true
			continue
		}
		all[u.object.Type], all[u.object.Name] = true, true
		if u.entry != nil {
			all[u.entry.Provider.ProviderConfig.String()] = true
		}
		for _, name := range u.object.Module.Module().Path() {
			all[name] = true
		}
	}
	for _, f := range x.types {
		if f.schema != nil {
			attributeNames(f.schema.Block.Type(), all)
		}
	}
	return slices.Collect(maps.Keys(all))
}

// masked returns the highest number of the masks (texts that replaced secrets) in the names, the objects and the keys
// of values. It returns 0 without masks.
func (x *examination) masked() int {
	out := 0
	see := func(texts ...[]byte) {
		for _, text := range texts {
			out = max(out, highest(text))
		}
	}
	for _, u := range x.units {
		see([]byte(u.name))
		if e := u.entry; e != nil {
			see(e.Attrs, e.Identity, e.Private, e.Extra)
			for key, text := range e.Flatmap {
				see([]byte(key), []byte(text))
			}
			continue
		}
		if u.value.Raw == cty.NilVal {
			continue
		}
		_ = cty.Walk(u.value.Raw, func(at cty.Path, _ cty.Value) (bool, error) {
			if len(at) == 0 {
				return true, nil
			}
			switch step := at[len(at)-1].(type) {
			case cty.GetAttrStep:
				see([]byte(step.Name))
			case cty.IndexStep:
				if step.Key.Type() == cty.String {
					see([]byte(step.Key.AsString()))
				}
			}
			return true, nil
		})
	}
	return out
}

// attributeNames adds the names of the attributes of a type, at all depths.
func attributeNames(t cty.Type, all map[string]bool) {
	switch {
	case t.IsCollectionType():
		attributeNames(t.ElementType(), all)
	case t.IsObjectType():
		for name, inner := range t.AttributeTypes() {
			all[name] = true
			attributeNames(inner, all)
		}
	}
}

// search returns a set of the values of secrets, without values that are too short or too common to be searched for (see
// common).
func (r *Report) search() *secret.Set {
	set := &secret.Set{}
	for text := range r.labels {
		if !common(text) {
			set.Add(text, secret.Origin{Kind: secret.WriteOnly, Sensitive: true})
		}
	}
	return set
}

// inNames returns the values in the set that one of the names that a copy needs contains.
func (r *Report) inNames(set *secret.Set) map[string]bool {
	out := map[string]bool{}
	if r.names == nil || set.Empty() {
		return out
	}
	for _, name := range r.names() {
		set.Within(name, func(text string) { out[text] = true })
	}
	return out
}
