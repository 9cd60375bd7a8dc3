package guard

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// A look is a search for secrets in the parts of an answer. It reports and removes each secret that the object may not
// contain (see rights).
type look struct {
	guard   *Guard
	since   int64 // the version of the set of secrets when the search began; the search may miss later secrets
	of      Subject
	rights  rights
	title   string // the title of the errors about found secrets
	removed []Removal
}

// A Removal is a part of an answer that was removed because it contained a secret.
type Removal struct {
	Part Part
	Path cty.Path // in the object or identity; nil for private data
	From secret.Origin
}

// Part tells in which part of a provider's answer a secret was found.
type Part int

// The parts of an answer that the state stores: the value of the object, the private data and the identity.
const (
	OfObject Part = iota
	OfPrivate
	OfIdentity
)

// rights are the texts that an object may contain although they are secrets: the texts in its configuration outside of
// write-only arguments, and the texts that the prior object has at the same path. A text of the prior object at another
// path gives no right. Otherwise a provider that once put a secret into an object could later put the secret anywhere.
type rights struct {
	config cty.Value    // the configuration of the object; NilVal if it is unknown or missing
	was    *state.Entry // nil if no object existed

	texts []string // the texts in config, outside of write-only arguments; set by ask
	// had has the texts of the prior object. A key is the result of place for the path of the texts. ask sets had. It is
	// nil if there is no prior object, if the object has another schema version, or if it cannot be decoded.
	had   map[string][]string
	asked bool // whether ask has set texts and had
}

// allows reports whether an object may contain a text at a path. The argument hidden is the secret that the text
// contains; if it is "", the whole text is a secret. If the prior object has another schema or cannot be decoded,
// allows searches only its whole stored text, because the paths of its texts are unknown.
func (r *rights) allows(t *Type, at cty.Path, text, hidden string) bool {
	if !r.asked {
		r.ask(t)
	}
	in := func(all []string) bool {
		return slices.Contains(all, text) || hidden != "" && slices.ContainsFunc(all, func(s string) bool { return secret.Holds(s, hidden) })
	}
	if r.was != nil && r.had == nil { // the prior object has another schema, so the paths of its texts are unknown
		return in(r.texts) || in(slices.AppendSeq([]string{string(r.was.Attrs)}, maps.Values(r.was.Flatmap)))
	}
	return in(r.texts) || in(r.had[place(at)])
}

func (r *rights) ask(t *Type) {
	r.asked = true
	if r.config != cty.NilVal {
		Texts(t.NullWriteOnly(r.config), func(_ cty.Path, text string) { r.texts = append(r.texts, text) })
	}
	if r.was == nil || r.was.Schema != t.Version {
		return
	}
	if v, err := t.DecodeJSON(r.was.Attrs); err == nil {
		r.had = map[string][]string{}
		Texts(v, func(p cty.Path, text string) { r.had[place(p)] = append(r.had[place(p)], text) })
	}
}

// before returns the value of the prior object at a path. It returns false if the value is null or cannot be
// determined.
func (r *rights) before(t *Type, p cty.Path) (cty.Value, bool) {
	if r.was == nil || r.was.Schema != t.Version {
		return cty.NilVal, false
	}
	v, err := t.DecodeJSON(r.was.Attrs)
	if err == nil {
		v, err = p.Apply(v)
	}
	return v, err == nil && !v.IsNull()
}

// Texts visits all text in a value: strings and the known prefixes of unknown strings, numbers, names of attributes and
// keys of maps. The path of a name or a key ends with the step of this name or key.
func Texts(v cty.Value, visit func(p cty.Path, text string)) {
	chosenTexts(cty.DynamicPseudoType, v, func(c chosen) { visit(c.at, c.text) })
}

// place returns a path as a text. It omits indexes and keys, because the elements of a collection may move.
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

// object returns the object v without the secrets that it may not contain (see rights). It replaces a value with such a
// secret by the configured value, by the prior value if the value is the id, or otherwise by null. It returns false if
// it replaced a value.
func (l *look) object(v cty.Value) (cty.Value, bool) {
	if l.guard.Secrets.Empty() || v.IsNull() {
		return v, true
	}
	clean := true
	var swaps []swap
	search := func(c chosen) {
		origin, hit := l.secretIn(c.text, func(hidden string) bool { return l.rights.allows(l.of.Type, c.at, c.text, hidden) })
		if !hit {
			return
		}
		clean = false
		s := c.swap(v)
		kept := "The value was dropped."
		if configured(l.rights.config, s.path) {
			s.with, _ = s.path.Apply(l.rights.config)
			kept = "Lethe kept the configured value instead."
		} else if before, ok := l.rights.before(l.of.Type, s.path); ok && vital(s.path) {
			s.with, kept = before, "Lethe kept the prior value instead."
		}
		swaps = append(swaps, s)
		cause := "This is a bug in the provider."
		if l.of.Type.Mode == addr.Data {
			cause = "If the data source reads the secret itself, remove the data source, because its results are stored: an ephemeral resource reads a secret without storing it. Otherwise, this is a bug in the provider."
		}
		l.remove(OfObject, s.path, origin, "%s returned %s in \"%s.%s\", where it would be stored. %s %s Report it to its developers.",
			l.of.Who(), origin, l.of.Object, mark.PathString(s.path), kept, cause)
	}
	chosenTexts(l.of.Type.Type(), v, search)
	for _, s := range swaps {
		v = s.in(v)
	}
	return v, clean
}

// secretKey searches the map keys in the path p for a secret, and returns the origin of the first secret that it finds.
// hit is false if it finds no secret. The object need not have a value at the path.
func (l *look) secretKey(p cty.Path) (origin secret.Origin, hit bool) {
	for i, step := range p {
		if index, ok := step.(cty.IndexStep); ok && index.Key.Type() == cty.String && !hit {
			key := index.Key.AsString()
			origin, hit = l.secretIn(key, func(hidden string) bool { return l.rights.allows(l.of.Type, p[:i+1], key, hidden) })
		}
	}
	return origin, hit
}

// harmless reports whether an encoded object contains no secret, and reports an error for each secret in it. It also
// reports an error and returns false if it cannot decode the object. It first searches the encoded bytes, and decodes
// the object only if they may contain a secret or if a secret is a number: the encoding contains texts unchanged, but
// not numbers.
func (l *look) harmless(wire []byte) bool {
	if secrets := l.guard.Secrets; !secrets.Number() {
		if !secrets.MayRefuse(wire) {
			return true
		}
	}
	v, ok := l.of.Decode(wire, l.title)
	if ok {
		_, ok = l.object(v)
	}
	return ok
}

// private returns the private data, or nil and false if the data contains a secret that neither the configuration nor
// the prior private data contains.
func (l *look) private(private []byte) ([]byte, bool) {
	r := &l.rights
	if l.guard.Secrets.Empty() || len(private) == 0 || r.was != nil && bytes.Equal(private, r.was.Private) {
		return private, true
	}
	origin, hit := l.secretIn(string(private), func(hidden string) bool {
		return r.was != nil && secret.Holds(string(r.was.Private), hidden) || r.allows(l.of.Type, nil, string(private), hidden)
	})
	if !hit {
		return private, true
	}
	l.remove(OfPrivate, nil, origin, "%s put %s into the private data of %s, which is stored. Lethe dropped the private data. This is a bug in the provider. Report it to its developers.",
		l.of.Who(), origin, l.of.Object)
	return nil, false
}

// identity returns the identity, or NilVal and false if it contains a secret that neither the configuration, the prior
// identity nor the prior id contains.
func (l *look) identity(identity cty.Value) (cty.Value, bool) {
	if identity == cty.NilVal || l.guard.Secrets.Empty() {
		return identity, true
	}
	r, good := &l.rights, true
	chosenTexts(l.of.Type.identityType(), identity, func(c chosen) {
		origin, hit := l.secretIn(c.text, func(hidden string) bool {
			return r.was != nil && secret.Holds(string(r.was.Identity), hidden) || r.allows(l.of.Type, cty.GetAttrPath("id"), c.text, hidden)
		})
		if hit {
			good = false
			l.remove(OfIdentity, c.in.Copy(), origin, "%s returned %s in the identity of %s (%s), which is stored. Lethe dropped the identity. This is a bug in the provider. Report it to its developers.",
				l.of.Who(), origin, l.of.Object, mark.PathString(c.in))
		}
	})
	if !good {
		return cty.NilVal, false
	}
	return identity, true
}

// lookAgain makes Guard.Review call search with a copy of l, if secrets are registered after the first search.
func (l *look) lookAgain(search func(*look)) {
	if l.guard.Secrets == nil {
		return
	}
	again := *l
	l.guard.LookAgain(l.since, func() { search(&again) })
}

// lookAgainAt makes Guard.Review search the entry e again, because a refreshed value may equal a secret that is
// registered later.
func (l *look) lookAgainAt(e *state.Entry) {
	l.lookAgain(func(l *look) {
		if !l.guard.Secrets.MayRefuse(slices.Concat(e.Attrs, e.Private, e.Identity)) {
			return
		}
		if v, err := l.of.Type.DecodeJSON(e.Attrs); err == nil {
			l.object(v)
		}
		l.private(e.Private)
		l.identity(l.of.Type.StoredIdentity(e))
	})
}

// remove records that a part of the answer was removed because of a secret, and reports the error that format and a
// make. The parameter from is the origin of the secret.
func (l *look) remove(part Part, p cty.Path, from secret.Origin, format string, a ...any) {
	l.removed = append(l.removed, Removal{part, p, from})
	l.of.breach(l.title, format, a...)
}

// secretIn searches a text for a secret. It returns the origin of the secret, or false if it finds no secret. It
// ignores secrets for which allowed returns true, and all text of a test program that returns its configuration
// (Guard.Echoes).
func (l *look) secretIn(text string, allowed func(hidden string) bool) (secret.Origin, bool) {
	if l.guard.Echoes != nil && l.guard.Echoes(l.of.Provider.Addr(), text) {
		return secret.Origin{}, false
	}
	return l.guard.Secrets.Check(text, l.of.Object.Instance.String(), allowed)
}

// vital reports whether p is the path of the attribute "id", or is inside it: without its id, most objects cannot be
// found.
func vital(p cty.Path) bool {
	step, ok := p[0].(cty.GetAttrStep)
	return ok && step.Name == "id"
}

// chosen is a text that a provider chose. The text is a part of the value whose path is the field in.
type chosen struct {
	text string
	at   cty.Path // the path of the text: equal to in, or for a key or a name below in, with the key or the name as the last step
	in   cty.Path // the path of the value that is removed if the text is a secret
	name bool     // the text is the name of an attribute in the type of the value
}

// chosenTexts visits the texts in a value that the provider chose: strings and numbers, the known prefixes of unknown
// strings, keys of maps, and names of attributes if the schema leaves the type open. A key is removed together with its
// map, and a name together with the value of the type.
func chosenTexts(declared cty.Type, v cty.Value, visit func(chosen)) {
	secret.Leaves(v, func(p cty.Path, _ cty.Value, text string) { visit(chosen{text: text, at: p, in: p}) })
	besideLeaves(nil, declared, v, visit)
}

// besideLeaves visits the texts of v that are neither known strings nor numbers: known prefixes of unknown strings,
// keys of maps, and names of attributes if the schema leaves the type open. p is the path of v, and declared the type
// in the schema.
func besideLeaves(p cty.Path, declared cty.Type, v cty.Value, visit func(chosen)) {
	if declared == cty.DynamicPseudoType {
		declared = v.Type()
		attributeNames(p, declared, func(at cty.Path, name string) { visit(chosen{text: name, at: at, in: p, name: true}) })
	}
	if !v.IsKnown() && v.Type() == cty.String {
		visit(chosen{text: v.Range().StringPrefix(), at: p, in: p})
	}
	if v.IsNull() || !v.IsKnown() || v.Type().IsPrimitiveType() || v.Type().IsCapsuleType() {
		return
	}
	element := cty.DynamicPseudoType
	if declared.IsCollectionType() {
		element = declared.ElementType()
	}
	switch ty := v.Type(); {
	case ty.IsMapType():
		for key, e := range ctyvalue.Members(v) {
			at := append(p, cty.IndexStep{Key: cty.StringVal(key)})
			visit(chosen{text: key, at: at, in: p})
			besideLeaves(at, element, e, visit)
		}
	case ty.IsObjectType():
		for name, e := range ctyvalue.Members(v) {
			of := cty.DynamicPseudoType
			if declared.IsObjectType() && declared.HasAttribute(name) {
				of = declared.AttributeType(name)
			}
			besideLeaves(append(p, cty.GetAttrStep{Name: name}), of, e, visit)
		}
	case ty.IsSetType():
		for _, e := range ctyvalue.Items(v) {
			besideLeaves(append(p, cty.IndexStep{Key: e}), element, e, visit)
		}
	default:
		for i, e := range ctyvalue.Items(v) {
			if declared.IsTupleType() {
				element = declared.TupleElementType(i)
			}
			besideLeaves(append(p, cty.IndexStep{Key: cty.NumberIntVal(int64(i))}), element, e, visit)
		}
	}
}

// attributeNames visits the names of attributes in the type ty. p is the path of the value of this type.
func attributeNames(p cty.Path, ty cty.Type, visit func(at cty.Path, name string)) {
	element := append(p, cty.IndexStep{Key: cty.UnknownVal(cty.Number)})
	switch {
	case ty.IsObjectType():
		for name, of := range ty.AttributeTypes() {
			at := append(p, cty.GetAttrStep{Name: name})
			visit(at, name)
			attributeNames(at, of, visit)
		}
	case ty.IsTupleType():
		for _, of := range ty.TupleElementTypes() {
			attributeNames(element, of, visit)
		}
	case ty.IsCollectionType():
		attributeNames(element, ty.ElementType(), visit)
	}
}

// A swap is the replacement of the value at a path by another value.
type swap struct {
	path cty.Path
	with cty.Value // the value in place of the secret; NilVal means null
	open bool      // the value may get another type
}

// swap returns the swap that removes the text c from v. If the text is the name of an attribute in the type of a
// collection's elements, the swap replaces the whole collection, because all its elements have this type.
func (c chosen) swap(v cty.Value) swap {
	for i := 0; c.name && i < len(c.in); i++ {
		if of, err := c.in[:i].Apply(v); err == nil && of.Type().IsCollectionType() {
			return swap{path: c.in[:i].Copy(), open: true}
		}
	}
	return swap{path: c.in.Copy(), open: c.name}
}

// in returns v after the replacement. If the swap has no value, or its value does not fit the type at the path, the
// replacement is null. If the path leads into a set, the whole set becomes null.
func (s swap) in(v cty.Value) cty.Value {
	out, err := cty.Transform(v, func(p cty.Path, v cty.Value) (cty.Value, error) {
		switch {
		case p.Equals(s.path) && s.with != cty.NilVal && (s.open || s.with.Type().Equals(v.Type())):
			return s.with, nil
		case p.Equals(s.path) && s.open:
			return cty.NullVal(cty.DynamicPseudoType), nil
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
