package explain

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
)

// Type is a type of a provider, or a part of it.
type Type struct {
	Mode     addr.Mode
	Name     string
	Provider addr.Provider
	Version  string   // the version of the installed provider; "": unknown
	Path     []string // the names on the path of the part; nil for the whole type
	Others   []string // the types of this name of the other modes, as users write them: "data.aws_ami"

	Block *schema.Block  // the schema of the type, or of the block at Path; nil for an attribute
	Attr  *schema.Attr   // the attribute at Path; nil for a type or a block
	Of    *schema.Nested // the block at Path; nil for a type or an attribute

	whole *schema.Block // the schema of the type
}

// Function is a function of a provider. Version is the version of the installed provider, or "" if it is unknown.
type Function struct {
	Name     string
	Provider addr.Provider
	Version  string
	*provider.Function
}

// modes lists the modes, with the prefix of their addresses and their name for people. A name without a prefix means
// the first mode that has a type of this name.
var modes = []struct {
	Mode         addr.Mode
	Prefix, Kind string
}{
	{addr.Managed, "", "resource"},
	{addr.Data, "data.", "data source"},
	{addr.Ephemeral, "ephemeral.", "ephemeral resource"},
	{addr.List, "list.", "list resource"},
}

// Kind returns the kind of the type in words, such as "data source".
func (t *Type) Kind() string { _, kind := textsOf(t.Mode); return kind }

// Written returns the name of the type with the prefix of its mode and the path.
func (t *Type) Written() string {
	prefix, _ := textsOf(t.Mode)
	return strings.Join(append([]string{prefix + t.Name}, t.Path...), ".")
}

// textsOf returns the prefix of the addresses of a mode, such as "data.", and its name for people. It returns "" and ""
// for an unknown mode.
func textsOf(of addr.Mode) (prefix, kind string) {
	for _, m := range modes {
		if m.Mode == of {
			return m.Prefix, m.Kind
		}
	}
	return "", ""
}

// Split splits a text such as "data.aws_ami.filter.name" into the modes that it may mean, the name of the type, and the
// names below it. A text without the prefix of a mode may mean any mode.
func Split(text string) (of []addr.Mode, name string, path []string) {
	for _, m := range modes {
		if rest, ok := strings.CutPrefix(text, m.Prefix); ok && m.Prefix != "" {
			of, text = []addr.Mode{m.Mode}, rest
		}
	}
	if rest, ok := strings.CutPrefix(text, "resource."); ok && of == nil {
		of, text = []addr.Mode{addr.Managed}, rest
	}
	if of == nil {
		for _, m := range modes {
			of = append(of, m.Mode)
		}
	}
	names := strings.Split(text, ".")
	return of, names[0], names[1:]
}

// TypeOf returns the type of a provider that a text names (see Split), or nil if the provider does not have it. If
// several modes have a type of this name, the result is the first, and Others lists the others. If the text names a
// part that the type does not have, Exists of the result is false. TypeOf returns an error if the schema is invalid.
func TypeOf(s *provider.Schemas, p addr.Provider, version, text string) (*Type, error) {
	of, name, path := Split(text)
	var t *Type
	for _, mode := range of {
		found, err := s.Type(mode, name)
		switch {
		case err != nil:
			return nil, err
		case found == nil:
		case t == nil:
			t = &Type{Mode: mode, Name: name, Provider: p, Version: version, Block: found.Block, whole: found.Block}
		default:
			prefix, _ := textsOf(mode)
			t.Others = append(t.Others, prefix+name)
		}
	}
	if t != nil && len(path) > 0 {
		t.Path = path
		t.Block, t.Attr, t.Of = partOf(t.whole, path)
	}
	return t, nil
}

// Exists reports whether the type has the part at the path. It returns true for a whole type.
func (t *Type) Exists() bool { return t.Block != nil || t.Attr != nil }

// partOf returns the attribute or the block type at a path of names, which must not be empty. For a block type it
// returns its schema and the block type. All results are nil if the path leads to neither.
func partOf(b *schema.Block, path []string) (*schema.Block, *schema.Attr, *schema.Nested) {
	name, rest := path[0], path[1:]
	if n := b.Nested(name); n != nil {
		if len(rest) == 0 {
			return n.Block, nil, n
		}
		return partOf(n.Block, rest)
	}
	return nil, attrAt(b.Attrs, path), nil
}

// attrAt returns the attribute at a path of names, which must not be empty, or nil if it does not exist.
func attrAt(attrs []*schema.Attr, path []string) *schema.Attr {
	i := slices.IndexFunc(attrs, func(a *schema.Attr) bool { return a.Name == path[0] })
	switch {
	case i < 0:
		return nil
	case len(path) == 1:
		return attrs[i]
	case attrs[i].Object == nil:
		return nil
	}
	return attrAt(attrs[i].Object.Attrs, path[1:])
}

// Parts returns the attributes and block types of the type, or of the block or nested attribute at Path. It returns nil
// for other attributes.
func (t *Type) Parts() ([]*schema.Attr, []*schema.Nested) {
	switch {
	case t.Block != nil:
		return t.Block.Attrs, t.Block.Blocks
	case t.Attr != nil && t.Attr.Object != nil:
		return t.Attr.Object.Attrs, nil
	}
	return nil, nil
}

// Names returns the names that could replace the last name on the path, for suggestions.
func (t *Type) Names() []string {
	attrs, blocks := t.whole.Attrs, t.whole.Blocks
	for n := len(t.Path) - 1; n > 0; n-- {
		up := *t
		if up.Block, up.Attr, _ = partOf(t.whole, t.Path[:n]); up.Exists() {
			attrs, blocks = up.Parts()
			break
		}
	}
	return namesOf(attrs, blocks)
}

// Facts returns the properties of an attribute, in the order of their importance.
func Facts(a *schema.Attr) []string {
	var out []string
	add := func(is bool, text string) {
		if is {
			out = append(out, text)
		}
	}
	add(a.Required, "required")
	add(a.Optional && !a.Computed, "optional")
	add(a.Optional && a.Computed, "optional, computed if it is not set")
	add(a.Computed && !a.Optional, "computed")
	add(a.WriteOnly, "write-only")
	add(a.Sensitive, "sensitive")
	add(a.Deprecated, "deprecated")
	return out
}

// BlockFacts returns the properties of a type of block.
func BlockFacts(n *schema.Nested) []string {
	var out []string
	switch {
	case n.Min > 0:
		out = append(out, "required")
	default:
		out = append(out, "optional")
	}
	switch {
	case n.Max > 1:
		out = append(out, "at most "+strconv.Itoa(n.Max))
	case n.Max == 1, n.Nesting == schema.Single, n.Nesting == schema.Group:
		out = append(out, "at most 1")
	}
	if n.Min > 1 {
		out = append(out, "at least "+strconv.Itoa(n.Min))
	}
	if n.Block.Deprecated {
		out = append(out, "deprecated")
	}
	return out
}
