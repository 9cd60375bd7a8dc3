// Package mark represents the marks of values: which parts of a value are sensitive or ephemeral, and their origins.
//
// Only this package uses the marks of package cty (invariant I2 of the architecture). During evaluation, values carry
// cty marks, because cty's operations propagate them. Stored values are plain, with a list of marked paths beside them
// (invariant I4). Split and Join convert between the two forms. They do no work for values without marks.
//
// A mark has a Tag and, for explanations, an Origin: the chain of places from the value back to its source (`output.dsn
// ← local.url ← var.password`). During evaluation, each variable, local value and output adds itself to the chain with
// the method Via. Errors about ephemeral values print the chain.
//
// Deprecation is not a mark: it is a property of references.
package mark

import (
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/zclconf/go-cty/cty"
)

// Tag is a property of a value. Every value made from the value has it, too.
type Tag uint8

// The tags.
const (
	Sensitive Tag = iota + 1 // the value must not be shown
	Ephemeral                // the value must not be stored
)

func (t Tag) String() string {
	if t == Ephemeral {
		return "ephemeral"
	}
	return "sensitive"
}

// Mask returns the text that replaces a value with the mark in output.
func (t Tag) Mask() string { return "(" + t.String() + " value)" }

// Origin is the nearest place of a chain. The chain consists of the places through which a marked value passed, back to
// its source.
type Origin struct {
	What  string     // the address of the place: "var.password", "local.url"
	Range diag.Range // where the configuration declares the place
	From  *Origin    // the previous place, nearer to the source; nil for the source
}

// String returns the chain, the nearest place first.
func (o *Origin) String() string {
	var parts []string
	for ; o != nil; o = o.From {
		parts = append(parts, o.What)
	}
	return strings.Join(parts, " ← ")
}

// At is a mark of a stored value: the path inside the value, the tag, the origin or nil, and the pieces or nil. The
// pieces are the texts from which the marked value was made.
type At struct {
	Path   cty.Path
	Tag    Tag
	Why    *Origin
	Pieces *Pieces
}

// Value is a stored value: a plain value and its marks.
type Value struct {
	Raw   cty.Value // never marked, at any depth
	Marks []At      // the marks, at most one for each path and tag
}

// Plain returns v, which must be unmarked, as a Value.
func Plain(v cty.Value) Value { return Value{Raw: v} }

// tagged is the mark that package cty stores. Two marks are equal only if they have the same tag, and their origins and
// pieces are the same pointers.
type tagged struct {
	tag    Tag
	why    *Origin
	pieces *Pieces
}

// With returns v with a mark on v itself. The mark has the tag t, and its origin is why. With returns v unchanged if v
// itself has the tag.
func With(v cty.Value, t Tag, why *Origin) cty.Value {
	if Is(v, t) {
		return v
	}
	return v.Mark(tagged{tag: t, why: why})
}

// Without removes the tag from v itself. Elements and attributes of v keep their marks.
func Without(v cty.Value, t Tag) cty.Value {
	if !v.IsMarked() {
		return v
	}
	v, ms := v.Unmark()
	for m := range ms {
		if m, ok := m.(tagged); ok && m.tag == t {
			delete(ms, m)
		}
	}
	if len(ms) == 0 {
		return v
	}
	return v.WithMarks(ms)
}

// Is reports whether v itself has the tag.
func Is(v cty.Value, t Tag) bool {
	if !v.IsMarked() {
		return false
	}
	for m := range v.Marks() {
		if m, ok := m.(tagged); ok && m.tag == t {
			return true
		}
	}
	return false
}

// Anywhere reports whether v or any part of it has the tag.
func Anywhere(v cty.Value, t Tag) bool {
	if !v.ContainsMarked() {
		return false
	}
	_, pms := v.UnmarkDeepWithPaths()
	for _, pm := range pms {
		for m := range pm.Marks {
			if m, ok := m.(tagged); ok && m.tag == t {
				return true
			}
		}
	}
	return false
}

// Same returns v with the marks of w itself, but without the marks of parts of w. It is for values that are made from w
// without operations of cty, which would propagate the marks.
func Same(v, w cty.Value) cty.Value {
	if !w.IsMarked() {
		return v
	}
	return v.WithMarks(w.Marks())
}

// Unmark returns v without the marks of v itself, and a function that adds these marks to another value.
func Unmark(v cty.Value) (cty.Value, func(cty.Value) cty.Value) {
	if !v.IsMarked() {
		return v, func(r cty.Value) cty.Value { return r }
	}
	v, ms := v.Unmark()
	return v, func(r cty.Value) cty.Value { return r.WithMarks(ms) }
}

// UnmarkDeep returns v without any marks, and a function that adds all of these marks to the top of another value.
func UnmarkDeep(v cty.Value) (cty.Value, func(cty.Value) cty.Value) {
	asIs := func(r cty.Value) cty.Value { return r }
	if v.Type().IsPrimitiveType() && !v.IsMarked() {
		return v, asIs
	}
	v, ms := v.UnmarkDeep()
	if len(ms) == 0 {
		return v, asIs
	}
	return v, func(r cty.Value) cty.Value { return r.WithMarks(ms) }
}

// Split separates v from its marks. If a value inside v has several marks with the same tag, the result has one mark
// for them: with all their pieces, and with the origin that better prefers. Split drops marks of other packages. For
// cty.NilVal it returns a Value whose Raw is cty.NilVal.
func Split(v cty.Value) Value {
	if v == cty.NilVal || !v.ContainsMarked() {
		return Value{Raw: v}
	}
	raw, pms := v.UnmarkDeepWithPaths()
	out := Value{Raw: raw}
	for _, pm := range pms {
		at := len(out.Marks)
		for m := range pm.Marks {
			m, ok := m.(tagged)
			if !ok {
				continue
			}
			if i := slices.IndexFunc(out.Marks[at:], func(a At) bool { return a.Tag == m.tag }); i >= 0 {
				old := &out.Marks[at+i]
				if better(m.why, old.Why) {
					old.Why = m.why
				}
				old.Pieces = bothPieces(old.Pieces, m.pieces)
				continue
			}
			out.Marks = append(out.Marks, At{pm.Path, m.tag, m.why, m.pieces})
		}
		slices.SortFunc(out.Marks[at:], func(a, b At) int { return int(a.Tag) - int(b.Tag) })
	}
	return out
}

// better reports whether origin a is preferable to b if a value may have only one. Any origin is better than nil, and
// otherwise the first text in alphabetical order wins, so that the choice is deterministic.
func better(a, b *Origin) bool {
	return b == nil && a != nil || a != nil && a.String() < b.String()
}

// Has reports whether the value or any part of it has a mark with the tag.
func (v Value) Has(t Tag) bool {
	return slices.ContainsFunc(v.Marks, func(a At) bool { return a.Tag == t })
}

// Find returns the first mark with the tag, and false if no mark has it.
func (v Value) Find(t Tag) (At, bool) {
	i := slices.IndexFunc(v.Marks, func(a At) bool { return a.Tag == t })
	if i < 0 {
		return At{}, false
	}
	return v.Marks[i], true
}

// Sensitive returns the value with its sensitive marks only.
func (v Value) Sensitive() Value {
	v.Marks = slices.DeleteFunc(slices.Clone(v.Marks), func(a At) bool { return a.Tag != Sensitive })
	return v
}

// Via returns the value with a new origin in each mark: a place, from which the chain leads to the previous origin.
// what and r are the address and the range of the place. Sensitive marks without an origin remain without an origin.
// For ephemeral marks without an origin, the place becomes the source.
func (v Value) Via(what string, r diag.Range) Value {
	if len(v.Marks) == 0 {
		return v
	}
	v.Marks = slices.Clone(v.Marks)
	steps := map[*Origin]*Origin{} // the new origin for each old origin, so that equal origins stay equal
	for i := range v.Marks {
		a := &v.Marks[i]
		if a.Why == nil && a.Tag != Ephemeral {
			continue
		}
		if steps[a.Why] == nil {
			steps[a.Why] = &Origin{what, r, a.Why}
		}
		a.Why = steps[a.Why]
	}
	return v
}

// PathString formats a path as users write it after an attribute: `tags["b"]`, `rule[0].port`. A key becomes [...] if
// it is marked, unknown, null, or neither a number nor a string.
func PathString(p cty.Path) string {
	var b strings.Builder
	for _, s := range p {
		switch s := s.(type) {
		case cty.GetAttrStep:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.Name)
		case cty.IndexStep:
			b.WriteString(indexString(s.Key))
		}
	}
	return b.String()
}

// PathBelow formats a path as users write it after an address: `.tags["b"]`, `[0].port`. It returns "" for an empty
// path.
func PathBelow(p cty.Path) string {
	text := PathString(p)
	if text != "" && text[0] != '[' {
		return "." + text
	}
	return text
}

func indexString(k cty.Value) string {
	if k.IsMarked() || !k.IsKnown() || k.IsNull() {
		return "[...]"
	}
	switch k.Type() {
	case cty.Number:
		return "[" + k.AsBigFloat().Text('f', -1) + "]"
	case cty.String:
		return "[" + quote(k.AsString()) + "]"
	}
	return "[...]"
}

func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

// Look adds the contents of v, marked or not, to c. If the contents of c exceed the limits c.MostElements or
// c.MostBytes, or c.Number refuses a number, Look stops and returns false.
func Look(c *ctyvalue.Contents, v cty.Value) bool {
	if !c.Add(v) {
		look(c, v)
	}
	return c.Within()
}

func look(c *ctyvalue.Contents, v cty.Value) {
	if c.Elements++; !c.Within() {
		return
	}
	if v.IsMarked() {
		c.Marked = true
		v, _ = v.Unmark()
	}
	switch ty := v.Type(); {
	case !v.IsKnown():
		c.Unknown = true
	case v.IsNull() || ty == cty.Bool || ty.IsCapsuleType():
	case ty == cty.String:
		c.Bytes += int64(len(v.AsString()))
	case ty == cty.Number:
		c.Refused = c.Number != nil && !c.Number(ctyvalue.Number(v))
	case ty.IsObjectType() || ty.IsMapType():
		for name, e := range ctyvalue.Members(v) {
			c.Bytes += int64(len(name))
			look(c, e)
		}
	default:
		for e := range ctyvalue.Unordered(v) {
			look(c, e)
		}
	}
}
