package object

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// The guard (invariant I11). Marks decide about what the configuration says; they end where a
// provider answers. So what must not be kept is registered as it passes here, and what a provider
// answered beyond the configuration is looked through before it is kept.

// guardWriteOnly registers the write-only arguments of a configuration whose value is secret.
func guardWriteOnly(t *Tools, config mark.Value) {
	if t.Walk.Secrets == nil || len(config.Marks) == 0 || !t.Type.HasWriteOnly() {
		return
	}
	marked := mark.NewPlaces(config.Marks)
	for _, p := range t.Type.WriteOnly(config.Raw) {
		ephemeral := marked.Touch(p, mark.Ephemeral)
		if !ephemeral && !marked.Touch(p, mark.Sensitive) {
			continue
		}
		v, err := p.Apply(config.Raw)
		if err != nil {
			continue // inside a set, where write-only attributes cannot be
		}
		origin := secret.Origin{Addr: t.Object.Instance.String(), Path: mark.PathBelow(p), Kind: secret.WriteOnly, Sensitive: !ephemeral}
		t.Walk.Secrets.AddValue(v, origin)
		for _, m := range config.Marks {
			if m.Pieces == nil || !m.Path.HasPrefix(p) && !p.HasPrefix(m.Path) {
				continue
			}
			origin.Sensitive = m.Tag == mark.Sensitive
			m.Pieces.Each(func(text string) { t.Walk.Secrets.Add(text, origin) })
		}
	}
}

// Given registers what is ephemeral in the arguments of a provider, of one of its functions, or of an
// ephemeral resource: it may not be known as it is now, as what a document of secrets was taken apart into. What the
// schema, if there is one, calls sensitive is guarded in full. Of the rest, a region or a port, it cannot be said whether
// it may be kept: it is masked. The pieces of a longer text are guarded in full: a password in a connection string is one.
func (w *Walk) Given(args mark.Value, s *schema.Schema, to string) {
	if w.Secrets == nil || !args.Has(mark.Ephemeral) {
		return
	}
	var sensitive []mark.At
	if s != nil {
		sensitive = mark.SensitiveAt(s.SensitivePaths(args.Raw))
	}
	for _, m := range args.Marks {
		if m.Tag == mark.Ephemeral {
			origin := secret.Origin{Addr: to, Path: mark.PathBelow(m.Path), Kind: secret.Setting}
			m.Pieces.Each(func(text string) { w.Secrets.Add(text, origin) })
		}
	}
	marked, hidden := mark.NewPlaces(args.Marks), mark.NewPlaces(sensitive)
	secret.Leaves(args.Raw, func(p cty.Path, leaf cty.Value, _ string) {
		if !marked.Touch(p, mark.Ephemeral) {
			return
		}
		origin := secret.Origin{Addr: to, Path: mark.PathBelow(p), Kind: secret.Setting}
		if hidden.Touch(p, mark.Sensitive) {
			w.Secrets.AddValue(leaf, origin)
		} else {
			w.Secrets.MaskUnlessPlain(leaf, origin)
		}
	})
}

// guardResult registers what the provider computed for an ephemeral resource. What is configured
// is known from elsewhere, and guarded there if it must be.
func guardResult(t *Tools, v, config cty.Value) {
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
		at.Path = mark.PathBelow(p)
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

// rights are what an object may say though it is secret elsewhere: what its own configuration says
// outside of write-only arguments, and what it had at the same place before. Nothing else of the state
// counts: a provider that got a secret into one object could put it anywhere else then.
type rights struct {
	config cty.Value    // NilVal: it is not known, or there is none
	was    *state.Entry // nil: there was no such object

	said  []string            // in the configuration
	had   map[string][]string // by place; nil: not asked for yet, or not known
	asked bool
}

// allows reports whether text, with a secret in it, may stand at a place.
func (r *rights) allows(t *Tools, at cty.Path, text, hidden string) bool {
	if !r.asked {
		r.ask(t)
	}
	in := func(all []string) bool {
		return slices.Contains(all, text) || hidden != "" && slices.ContainsFunc(all, func(s string) bool { return secret.Holds(s, hidden) })
	}
	if r.was != nil && r.had == nil { // its schema was another one
		return in([]string{string(r.was.Attrs)})
	}
	return in(r.said) || in(r.had[place(at)])
}

func (r *rights) ask(t *Tools) {
	r.asked = true
	if r.config != cty.NilVal {
		Texts(t.Type.NullWriteOnly(r.config), func(_ cty.Path, text string) { r.said = append(r.said, text) })
	}
	if r.was == nil || r.was.Schema != t.Type.Version {
		return
	}
	if v, err := t.Type.DecodeJSON(r.was.Attrs); err == nil {
		r.had = map[string][]string{}
		Texts(v, func(p cty.Path, text string) { r.had[place(p)] = append(r.had[place(p)], text) })
	}
}

// Texts visits all text in a value: strings, and the names of attributes and keys of maps, whose path is that of their
// object or map.
func Texts(v cty.Value, visit func(p cty.Path, text string)) {
	secret.Leaves(v, func(p cty.Path, _ cty.Value, text string) {
		visit(p, text)
		for i, step := range p {
			switch step := step.(type) {
			case cty.GetAttrStep:
				visit(p[:i+1], step.Name)
			case cty.IndexStep:
				if step.Key.Type() == cty.String {
					visit(p[:i+1], step.Key.AsString())
				}
			}
		}
	})
}

// place is a path without its indices: elements move.
func place(p cty.Path) string {
	var b strings.Builder
	for _, step := range p {
		if step, ok := step.(cty.GetAttrStep); ok {
			b.WriteString("." + step.Name)
		} else {
			b.WriteString("[]")
		}
	}
	return b.String()
}

// keepable is an answer without the secrets that the provider put there, and the configuration did
// not: they are nulled and reported. Where something is configured, that stays.
func keepable(t *Tools, v cty.Value, r *rights, title string) (cty.Value, bool) {
	if t.Walk.Secrets.Empty() || v.IsNull() {
		return v, true
	}
	clean := true
	var swaps []swap
	look := func(at, p cty.Path, text string) { // of the value at p, what is at a place in it
		origin, hit := secretIn(t, text, func(hidden string) bool { return r.allows(t, at, text, hidden) })
		if !hit {
			return
		}
		clean = false
		s := swap{path: p.Copy()}
		kept := "The value was dropped."
		if configured(r.config, p) {
			s.with, _ = p.Apply(r.config)
			kept = "What is configured was kept instead."
		} else if before, ok := r.before(t, p); ok && vital(p) {
			s.with, kept = before, "What was there before was kept instead."
		}
		swaps = append(swaps, s)
		t.breach(title, "%s returned %s in \"%s.%s\", where it would be stored. %s This is a bug in the provider, to be reported there.",
			t.who(), origin, t.Object, mark.PathString(p), kept)
	}
	secret.Leaves(v, func(p cty.Path, _ cty.Value, text string) { look(p, p, text) })
	chosenNames(t, v, look)
	for _, s := range swaps {
		v = s.in(v)
	}
	return v, clean
}

// before is what stood at a place of the object before, if that is known.
func (r *rights) before(t *Tools, p cty.Path) (cty.Value, bool) {
	if r.was == nil || r.was.Schema != t.Type.Version {
		return cty.NilVal, false
	}
	v, err := t.Type.DecodeJSON(r.was.Attrs)
	if err == nil {
		v, err = p.Apply(v)
	}
	return v, err == nil && !v.IsNull()
}

// harmless reports whether an answer on the wire may be worked with, and says what may not be kept of
// it. Few answers have to be decoded for that: the wire holds texts as they are, though not numbers.
func harmless(t *Tools, wire []byte, was *state.Entry, title string) bool {
	if secrets := t.Walk.Secrets; !secrets.Number() {
		if !secrets.HasIn(wire) {
			return true
		}
	}
	v, ok := decode(t, wire, title)
	if ok {
		_, ok = keepable(t, v, &rights{was: was}, title)
	}
	return ok
}

// chosenNames visits the keys that an answer has of its own: of maps, and of objects where the
// schema leaves the type open. A key cannot be dropped alone: the map or object at p goes with it.
func chosenNames(t *Tools, v cty.Value, visit func(at, p cty.Path, name string)) {
	_ = cty.Walk(v, func(p cty.Path, v cty.Value) (bool, error) {
		switch ty := v.Type(); {
		case v.IsNull() || !v.IsKnown():
			return false, nil
		case ty.IsMapType():
			for name := range v.AsValueMap() {
				visit(p.Index(cty.StringVal(name)), p, name)
			}
		case ty.IsObjectType() && mayChoose(t, p):
			for name := range ty.AttributeTypes() {
				visit(p.GetAttr(name), p, name)
			}
		}
		return true, nil
	})
}

// mayChoose reports whether the schema does not say what there is at a path.
func mayChoose(t *Tools, p cty.Path) bool {
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

// secretIn finds a secret in a string that is to be stored, and that is not allowed there. What a provider
// that shows its configuration says of that is none.
func secretIn(t *Tools, text string, allowed func(hidden string) bool) (secret.Origin, bool) {
	if t.Walk.Shows != nil && t.Walk.Shows(t.Provider.Addr(), text) {
		return secret.Origin{}, false
	}
	return t.Walk.Secrets.Check(text, t.Object.Instance.String(), allowed)
}

// vital reports whether an object is not to be found without the attribute that a path leads to.
func vital(p cty.Path) bool {
	step, ok := p[0].(cty.GetAttrStep)
	return ok && step.Name == "id"
}

// keepablePrivate is private data that may be kept: nothing, where there is a secret in it.
func keepablePrivate(t *Tools, private []byte, r *rights, title string) ([]byte, bool) {
	if t.Walk.Secrets.Empty() || len(private) == 0 || r.was != nil && bytes.Equal(private, r.was.Private) {
		return private, true
	}
	origin, hit := secretIn(t, string(private), func(hidden string) bool {
		return r.was != nil && secret.Holds(string(r.was.Private), hidden) || r.allows(t, nil, string(private), hidden)
	})
	if !hit {
		return private, true
	}
	t.breach(title, "%s put %s into its private data about %s, which is stored. The private data was dropped. This is a bug in the provider, to be reported there.",
		t.who(), origin, t.Object)
	return nil, false
}

// keepableIdentity is an identity that may be kept: none, where there is a secret in it.
func keepableIdentity(t *Tools, identity cty.Value, r *rights, title string) (cty.Value, bool) {
	if identity == cty.NilVal || t.Walk.Secrets.Empty() {
		return identity, true
	}
	good := true
	secret.Leaves(identity, func(p cty.Path, _ cty.Value, text string) {
		origin, hit := secretIn(t, text, func(hidden string) bool {
			return r.was != nil && secret.Holds(string(r.was.Identity), hidden) || r.allows(t, cty.GetAttrPath("id"), text, hidden)
		})
		if hit {
			good = false
			t.breach(title, "%s returned %s in the identity of %s (%s), which is stored. The identity was dropped. This is a bug in the provider, to be reported there.",
				t.who(), origin, t.Object, mark.PathString(p))
		}
	})
	if !good {
		return cty.NilVal, false
	}
	return identity, true
}

// guardEntry looks an entry's parts through before they are kept.
func guardEntry(t *Tools, e *state.Entry, v, identity cty.Value, r *rights, title string) (cty.Value, cty.Value, bool) {
	v, clean := keepable(t, v, r, title)
	private, ok := keepablePrivate(t, e.Private, r, title)
	e.Private = private
	identity, known := keepableIdentity(t, identity, r, title)
	return v, identity, clean && ok && known
}

// reviewEntry notes that an entry is to be looked through again, if more secrets are known at the end: a
// refresh may bring what a lease is opened for later.
func reviewEntry(t *Tools, e *state.Entry, r *rights, title string) {
	lookAgain(t, func() {
		all := string(e.Attrs) + string(e.Private) + string(e.Identity)
		if !t.Walk.Secrets.Has(all) {
			return
		}
		if v, err := t.Type.DecodeJSON(e.Attrs); err == nil {
			keepable(t, v, r, title)
		}
		keepablePrivate(t, e.Private, r, title)
		keepableIdentity(t, identityOf(t, e), r, title)
	})
}

// lookAgain calls look at the end of the walk, if more secrets are known then.
func lookAgain(t *Tools, look func()) {
	if t.Walk.Secrets == nil {
		return
	}
	known := t.Walk.Secrets.Known()
	t.Walk.mu.Lock()
	defer t.Walk.mu.Unlock()
	t.Walk.later = append(t.Walk.later, func() {
		if t.Walk.Secrets.Known() != known {
			look()
		}
	})
}

// Review looks again at what was brought before all secrets were known, and reports what must not be kept
// of it. Nothing was kept yet.
func (w *Walk) Review() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, look := range w.later {
		look()
	}
	w.later = nil
}

// lostValue reports whether a new object is not to be found by what may be kept of it.
func lostValue(t *Tools, answered, said, kept, identity cty.Value) bool {
	if t.Type.Attr("id") == nil {
		return said != cty.NilVal && identity == cty.NilVal
	}
	return !answered.GetAttr("id").IsNull() && kept.GetAttr("id").IsNull()
}

// undo destroys what was just made, as it is not to be found by what may be kept of it. It reports whether
// nothing is left.
func undo(ctx context.Context, t *Tools, wire []byte, resp provider.ApplyResponse, s Stored) bool {
	undone := false
	if !s.SkipDestroy {
		t.token(ctx, func() {
			left, ds := t.Provider.Apply(ctx, provider.ApplyRequest{
				Type: t.Type.Name, Prior: send(wire), Planned: send(nullWire), Config: send(nullWire),
				Private: resp.Private, Identity: resp.Identity, Meta: t.Type.Meta,
			})
			undone = t.Report(ds) && left.State.JSON == nil && isNull(left.State.Msgpack)
		})
	}
	if undone {
		t.breach("Provider produced invalid object", "The provider put a secret into the identifier of %s. Lethe stores no secrets, and could not find the object again without its identifier, so it was destroyed. Use another secret, or give this provider none until the bug is fixed.", t.Object)
	} else {
		t.breach("Provider produced invalid object", "The provider put a secret into the identifier of %s. Lethe stores no secrets, and cannot find the object again without its identifier. It could not be destroyed either: it still exists, and has to be removed by other means.", t.Object)
	}
	return undone
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
