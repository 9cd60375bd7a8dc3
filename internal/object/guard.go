package object

import (
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// The guard (invariant I11). Marks decide about what the configuration says; they end where a
// provider answers. So what must not be kept is registered as it passes here, and what a provider
// answered beyond the configuration is looked through before it is kept.

// guardWriteOnly registers the write-only arguments of a configuration whose value is secret.
func (t *Tools) guardWriteOnly(config mark.Value) {
	if t.Walk.Secrets == nil || len(config.Marks) == 0 || !t.Type.HasWriteOnly() {
		return
	}
	for _, p := range t.Type.WriteOnly(config.Raw) {
		ephemeral, sensitive := marksAt(config.Marks, p)
		if !ephemeral && !sensitive {
			continue
		}
		v, err := p.Apply(config.Raw)
		if err != nil {
			continue // inside a set, where write-only attributes cannot be
		}
		t.Walk.Secrets.AddValue(v, secret.Origin{Addr: t.Object.Instance.String(), Path: "." + mark.PathString(p), Kind: secret.WriteOnly, Sensitive: !ephemeral})
	}
}

// Given registers what is ephemeral in the arguments of a provider, of one of its functions, or of an
// ephemeral resource: it may be known by nobody as it is now, as what a document of secrets was taken apart into. What the
// schema, if there is one, calls sensitive is guarded in full. Of the rest, a region or a port, nobody can say whether
// it may be kept: it is masked.
func (w *Walk) Given(args mark.Value, s *schema.Schema, to string) {
	if w.Secrets == nil || !args.Has(mark.Ephemeral) {
		return
	}
	var sensitive []mark.At
	if s != nil {
		sensitive = mark.Paths(s.SensitivePaths(args.Raw), mark.Sensitive)
	}
	secret.Leaves(args.Raw, func(p cty.Path, leaf cty.Value, _ string) {
		if ephemeral, _ := marksAt(args.Marks, p); !ephemeral {
			return
		}
		origin := secret.Origin{Addr: to, Path: "." + mark.PathString(p), Kind: secret.Setting}
		if _, hidden := marksAt(sensitive, p); hidden {
			w.Secrets.AddValue(leaf, origin)
		} else {
			w.Secrets.MaskUnlessPlain(leaf, origin)
		}
	})
}

// marksAt says which marks a value at path has, in part at least.
func marksAt(marks []mark.At, path cty.Path) (ephemeral, sensitive bool) {
	for _, m := range marks {
		if path.HasPrefix(m.Path) || m.Path.HasPrefix(path) {
			ephemeral = ephemeral || m.Tag == mark.Ephemeral
			sensitive = sensitive || m.Tag == mark.Sensitive
		}
	}
	return ephemeral, sensitive
}

// guardResult registers what the provider computed for an ephemeral resource. What is configured
// is known from elsewhere, and guarded there if it must be.
func (t *Tools) guardResult(v, config cty.Value) {
	if t.Walk.Secrets == nil {
		return
	}
	origin := secret.Origin{Addr: t.Object.Instance.String(), Kind: secret.EphemeralResult}
	given := map[string]bool{}
	secret.Leaves(config, func(_ cty.Path, _ cty.Value, text string) { given[text] = true })
	secret.Leaves(v, func(p cty.Path, leaf cty.Value, text string) {
		if given[text] || configured(config, p) {
			return // an input, or one that comes back under another name
		}
		at := origin
		at.Path = "." + mark.PathString(p)
		t.Walk.Secrets.AddValue(leaf, at)
	})
}

// configured reports whether the configuration, if there is one, has a value at path.
func configured(config cty.Value, path cty.Path) bool {
	if config == cty.NilVal {
		return false
	}
	v, err := path.Apply(config)
	return err == nil && v.IsKnown() && !v.IsNull()
}

// keepable is an answer without the secrets that the provider put there, and the configuration did
// not: they are nulled and reported, save where that would lose the object. Where something is
// configured, that stays.
func (t *Tools) keepable(v, config cty.Value, title string) (cty.Value, bool) {
	if t.Walk.Secrets.Empty() || v.IsNull() {
		return v, true
	}
	clean := true
	var swaps []swap
	look := func(at, p cty.Path, text string) { // of the value at p, what is at a place in it
		origin, hit := t.secretIn(text)
		if !hit || t.has(config, at, len(at) > len(p)) {
			return
		}
		clean = false
		kept := "The value was dropped."
		switch {
		case configured(config, p):
			was, _ := p.Apply(config)
			swaps = append(swaps, swap{p.Copy(), was})
			kept = "What is configured was kept instead."
		case t.vital(p):
			kept = "It is what identifies the object or is required, and was kept: change the secret."
		default:
			swaps = append(swaps, swap{path: p.Copy()})
		}
		t.breach(title, "%s returned %s in \"%s.%s\", where it would be stored. %s This is a bug in the provider, to be reported there.",
			t.who(), origin, t.Object, mark.PathString(p), kept)
	}
	secret.Leaves(v, func(p cty.Path, _ cty.Value, text string) { look(p, p, text) })
	t.chosenNames(v, look)
	for _, s := range swaps {
		v = s.in(v)
	}
	return v, clean
}

// harmless reports whether an answer on the wire may be worked with, and says what may not be kept of
// it. Few answers have to be decoded for that: the wire holds texts as they are, though not numbers.
func (t *Tools) harmless(wire []byte, title string) bool {
	if secrets := t.Walk.Secrets; !secrets.Number() {
		if !secrets.Has(string(wire)) {
			return true
		}
	}
	v, ok := t.decode(wire, title)
	if ok {
		_, ok = t.keepable(v, cty.NilVal, title)
	}
	return ok
}

// has reports whether the configuration itself has a secret, or a key, at a place.
func (t *Tools) has(config cty.Value, at cty.Path, key bool) bool {
	found := configured(config, at)
	if !found || key {
		return found
	}
	v, _ := at.Apply(config)
	found = false
	secret.Leaves(v, func(_ cty.Path, _ cty.Value, text string) {
		_, hit := t.secretIn(text)
		found = found || hit
	})
	return found
}

// chosenNames visits the keys that an answer has of its own: of maps, and of objects where the
// schema leaves the type open. A key cannot be dropped alone: the map or object at p goes with it.
func (t *Tools) chosenNames(v cty.Value, visit func(at, p cty.Path, name string)) {
	_ = cty.Walk(v, func(p cty.Path, v cty.Value) (bool, error) {
		switch ty := v.Type(); {
		case v.IsNull() || !v.IsKnown():
			return false, nil
		case ty.IsMapType():
			for name := range v.AsValueMap() {
				visit(p.Index(cty.StringVal(name)), p, name)
			}
		case ty.IsObjectType() && t.open(p):
			for name := range ty.AttributeTypes() {
				visit(p.GetAttr(name), p, name)
			}
		}
		return true, nil
	})
}

// open reports whether the schema does not say what there is at a path.
func (t *Tools) open(p cty.Path) bool {
	ty := t.Type.Type()
	for _, step := range p {
		switch step := step.(type) {
		case cty.GetAttrStep:
			if !ty.IsObjectType() || !ty.HasAttribute(step.Name) {
				return true
			}
			ty = ty.AttributeType(step.Name)
		case cty.IndexStep:
			if !ty.IsCollectionType() {
				return true
			}
			ty = ty.ElementType()
		}
	}
	return ty == cty.DynamicPseudoType
}

// secretIn finds a secret in a string that is to be stored. What a provider that shows its
// configuration says of that is none.
func (t *Tools) secretIn(text string) (secret.Origin, bool) {
	if t.Walk.Shows != nil && t.Walk.Shows(t.Provider.Addr(), text) {
		return secret.Origin{}, false
	}
	return t.Walk.Secrets.Check(text)
}

// vital reports whether an object cannot do without the attribute that a path leads to.
func (t *Tools) vital(p cty.Path) bool {
	if step, ok := p[0].(cty.GetAttrStep); ok && step.Name == "id" {
		return true
	}
	a := t.Type.Attribute(p)
	return a != nil && a.Required
}

// keepablePrivate is private data that may be kept: nothing, where there is a secret in it.
func (t *Tools) keepablePrivate(private []byte, title string) ([]byte, bool) {
	if t.Walk.Secrets.Empty() || len(private) == 0 {
		return private, true
	}
	origin, hit := t.secretIn(string(private))
	if !hit {
		return private, true
	}
	t.breach(title, "%s put %s into its private data about %s, which is stored. The private data was dropped. This is a bug in the provider, to be reported there.",
		t.who(), origin, t.Object)
	return nil, false
}

// keepableIdentity reports secrets in an identity. An object is not to be found without it: it is
// kept.
func (t *Tools) keepableIdentity(identity cty.Value, title string) bool {
	if identity == cty.NilVal || t.Walk.Secrets.Empty() {
		return true
	}
	good := true
	secret.Leaves(identity, func(p cty.Path, _ cty.Value, text string) {
		if origin, hit := t.secretIn(text); hit {
			good = false
			t.breach(title, "%s returned %s in the identity of %s (%s), which is stored. It was kept: change the secret. This is a bug in the provider, to be reported there.",
				t.who(), origin, t.Object, mark.PathString(p))
		}
	})
	return good
}

// guarded looks an entry's parts through before they are kept: its value against the configuration
// that it was made from (NilVal if there was none), its private data and its identity.
func (t *Tools) guarded(e *state.Entry, v, config, identity cty.Value, title string) (cty.Value, bool) {
	v, clean := t.keepable(v, config, title)
	private, ok := t.keepablePrivate(e.Private, title)
	e.Private = private
	return v, t.keepableIdentity(identity, title) && clean && ok
}

// A swap puts something else at a path: what is configured there, or null.
type swap struct {
	path cty.Path
	with cty.Value // NilVal: null
}

// in is v with the swap made. A null member of a set takes the set with it.
func (s swap) in(v cty.Value) cty.Value {
	out, err := cty.Transform(v, func(p cty.Path, v cty.Value) (cty.Value, error) {
		switch {
		case p.Equals(s.path) && s.with != cty.NilVal && s.with.Type().Equals(v.Type()):
			return s.with, nil
		case p.Equals(s.path) || v.Type().IsSetType() && len(s.path) > len(p) && s.path.HasPrefix(p):
			return cty.NullVal(v.Type()), nil
		}
		return v, nil
	})
	if err != nil {
		return v
	}
	return out
}
