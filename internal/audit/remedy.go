package audit

import (
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config/style"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// remedy returns the remedy for a finding: an ephemeral resource if its type has one, a write-only argument if the
// schema or the provider has one for the value, and otherwise encryption. For outputs, variables, messages and private
// data it is encryption.
func (x *examination) remedy(f *Finding) Remedy {
	if f.object == (addr.Object{}) || f.Reason == Private {
		return Remedy{Kind: Encryption}
	}
	p := f.unit.from
	if f.unit.entry != nil {
		p = f.unit.entry.Provider.Provider
	}
	t := x.facts(p, f.object)
	switch {
	case t.schema == nil:
	case t.ephemeral:
		return Remedy{Kind: Ephemeral, Type: f.object.Type}
	default:
		if a := x.writeOnly(f, p, t); a != "" {
			return Remedy{Kind: WriteOnly, Argument: a}
		}
	}
	return Remedy{Kind: Encryption}
}

// writeOnly returns the path of the write-only argument that can replace the attribute of a finding, or "" if none is
// known. It searches the schema for an argument with a suitable name, and then the recommendations of the provider.
func (x *examination) writeOnly(f *Finding, p addr.Provider, t *typeFacts) string {
	if !t.schema.HasWriteOnly() {
		return ""
	}
	names := NamesOf(f.Path)
	for n := len(names); n > 0; n-- {
		if a := sibling(t.schema.Block, names[:n], names[n-1]+"_wo"); a != "" {
			return a
		}
	}
	if f.Reason != Schema && f.Reason != Configuration || x.in.Alternatives == nil {
		return ""
	}
	key := adviceKey{p, f.object.Type, strings.Join(names, ".")}
	if !x.asked[key] {
		x.asked[key] = true
		x.ask(f, p, t)
	}
	return x.advice[key]
}

// ask asks the provider for arguments that can replace the arguments of a finding's object, and stores them in
// x.advice. It asks nothing if the object cannot be decoded. If the provider returns an error, ask records a gap.
func (x *examination) ask(f *Finding, p addr.Provider, t *typeFacts) {
	v := f.unit.value.Raw
	if f.unit.entry != nil {
		var typed bool
		if v, typed = x.decode(f.unit, t); !typed {
			return
		}
	}
	config := style.Generation{Schema: t.schema.Block, Value: v}.Config()
	found, err := x.in.Alternatives(p, f.object.Type, t.schema, config)
	if err != nil {
		x.gap(p, f.object, NoAdvice, "The provider could not be asked for write-only arguments: "+strings.TrimSuffix(err.Error(), ".")+".")
		return
	}
	for _, a := range found {
		names := NamesOf(mark.PathString(a.Path))
		key := adviceKey{p, f.object.Type, strings.Join(names, ".")}
		if to := sibling(t.schema.Block, names, a.Argument); to != "" {
			x.advice[key], x.asked[key] = to, true
		}
	}
}

// sibling returns the path of the write-only argument with the given name beside the last name of a path. It returns ""
// if the schema has no such argument.
func sibling(b *schema.Block, names []string, name string) string {
	if len(names) == 0 {
		return ""
	}
	var path cty.Path
	for _, n := range names[:len(names)-1] {
		path = path.GetAttr(n)
	}
	if a := b.Attribute(path.GetAttr(name)); a == nil || a.Name != name || !a.WriteOnly {
		return ""
	}
	return strings.Join(append(names[:len(names)-1:len(names)-1], name), ".")
}

// NamesOf returns the names of attributes and blocks in a path of a report, without keys.
func NamesOf(path string) []string {
	var out []string
	for path != "" {
		end := strings.IndexAny(path, ".[")
		switch {
		case end < 0:
			return append(out, path)
		case end > 0:
			out = append(out, path[:end])
		}
		if path = path[end:]; path[0] == '.' {
			path = path[1:]
			continue
		}
		path = afterKey(path)
	}
	return out
}

// afterKey returns the rest of a path after the key in brackets at its beginning. It returns "" if the path has no "]"
// outside of quotes.
func afterKey(path string) string {
	quoted := false
	for i := 0; i < len(path); i++ {
		switch {
		case quoted && path[i] == '\\':
			i++
		case path[i] == '"':
			quoted = !quoted
		case path[i] == ']' && !quoted:
			return path[i+1:]
		}
	}
	return ""
}
