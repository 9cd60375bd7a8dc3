package config

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

var callSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{
		{Name: "source", Required: true}, {Name: "version"}, {Name: "count"}, {Name: "for_each"},
		{Name: "depends_on"}, {Name: "providers"}, {Name: "ignore_nested_deprecations"},
	},
	Blocks: []hcl.BlockHeaderSchema{{Type: "_"}, {Type: "lifecycle"}, {Type: "locals"}, {Type: "provider", LabelNames: []string{"type"}}},
}

func (l *loader) call(b *hcl.Block) {
	m := &Call{Name: b.Labels[0], Range: place(b)}
	if !l.name(b, 0, "Invalid module instance name") {
		return
	}
	if !l.first("module", m.Range, "Duplicate module call", "A module call named %q was already defined at %s. Module calls must have unique names within a module: rename or remove one of them.", m.Name) {
		return
	}
	l.mod.Calls[m.Name] = m
	c, rest, ds := b.Body.PartialContent(callSchema)
	l.rd.hcl(ds)
	if m.Source = argument(c, "source"); m.Source != nil {
		m.SourceRange = m.Source.Range()
	}
	m.Versions = argument(c, "version")
	l.rd.boolean(c.Attributes["ignore_nested_deprecations"], &m.IgnoreNestedDeprecations)
	l.rd.repeat(&m.Repeat, c)
	m.DependsOn = l.rd.dependsOn(c.Attributes["depends_on"])
	l.passed(m, c.Attributes["providers"])
	callLifecycle(l.rd, m, l.rd.only(c.Blocks.OfType("lifecycle"), "module call"))
	l.mod.ComputedLifecycles = l.mod.ComputedLifecycles || m.PreventDestroy != nil || m.CreateFirst != nil
	for _, inner := range c.Blocks.OfType("provider") {
		l.rd.error(inner.TypeRange, "Reserved block type name in module block", "The block type name \"provider\" is reserved for use in a future version. To pass a provider configuration to the module, use the \"providers\" argument.")
	}
	m.Body = l.inputs(l.rd.body("module", b, rest, c, callSchema))
}

// inputs reports an error for each block among the inputs of a module, because only arguments are allowed there. It
// returns b unchanged.
func (l *loader) inputs(b hcl.Body) hcl.Body {
	_, ds := b.JustAttributes()
	for _, d := range ds {
		var typ string
		if _, err := fmt.Sscanf(d.Summary, "Unexpected %q block", &typ); d.Subject != nil && err == nil {
			l.rd.error(*d.Subject, "Unsupported block type", "Blocks of type %q are not expected here. Did you mean to define argument %q? If so, use the equals sign to assign it a value.", typ, typ)
		} else if d.Subject != nil {
			l.rd.error(*d.Subject, "Unsupported block type", "Blocks are not expected here. To set an input variable, use the equals sign to assign it a value.")
		}
	}
	return b
}

// repeat reads count and for_each. If both are set, it reports an error and ignores for_each.
func (rd *reader) repeat(r *Repeat, c *hcl.BodyContent) {
	r.Count, r.ForEach = argument(c, "count"), argument(c, "for_each")
	if r.Count != nil && r.ForEach != nil {
		r.ForEach = nil
		rd.again(c.Attributes["for_each"].NameRange, c.Attributes["count"].NameRange, `Invalid combination of "count" and "for_each"`, "The \"count\" and \"for_each\" meta-arguments are mutually-exclusive. Remove one of them.")
	}
}

var callLifecycleSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "enabled"}, {Name: "prevent_destroy"}, {Name: "create_before_destroy"}}}

func callLifecycle(rd *reader, m *Call, b *hcl.Block) {
	if b == nil {
		return
	}
	c, _, ds := b.Body.PartialContent(lifecycleSchema)
	if !rd.hcl(ds) {
		return
	}
	for _, a := range byPlace(c.Attributes) {
		if a.Name == "prevent_destroy" || a.Name == "create_before_destroy" {
			if !letheOnly(rd, a.NameRange, fmt.Sprintf("the lifecycle argument %q in module calls", a.Name)) {
				return
			}
		} else if a.Name != "enabled" {
			rd.error(a.NameRange, "Invalid module lifecycle argument", "The lifecycle argument %q is not supported in module calls. Set it in the resources of the module.", a.Name)
			return
		}
	}
	if c, ok := rd.content(b.Body, callLifecycleSchema); ok {
		rd.enabled(&m.Repeat, c.Attributes["enabled"])
		m.PreventDestroy, m.CreateFirst = argument(c, "prevent_destroy"), argument(c, "create_before_destroy")
	}
}

// passed reads the providers argument, which maps the provider names of the called module to configurations of the
// caller. a is nil if the argument is missing. passed reports an error for a value that is not a map expression, and
// for an invalid or duplicate entry, which it leaves out.
func (l *loader) passed(m *Call, a *hcl.Attribute) {
	if a == nil {
		return
	}
	m.ProvidersGiven = true
	pairs, ds := hcl.ExprMap(a.Expr)
	if ds.HasErrors() {
		l.rd.error(a.Expr.Range(), "Invalid expression", "A static map expression is required for \"providers\", such as { aws = aws.west }.")
		return
	}
	for _, p := range pairs {
		child, ok := l.rd.providerRef(keyOf(p.Key), "providers")
		parent, good := l.rd.providerRef(p.Value, "providers")
		switch {
		case !ok || !good:
		case child.Key != nil:
			l.rd.error(p.Key.Range(), "Invalid provider configuration reference", "The left-hand side names a provider configuration of the module, so it cannot have an instance key. Move the key to the right-hand side.")
		default:
			at := hcl.RangeBetween(p.Key.Range(), p.Value.Range())
			if l.first("provider of "+m.Name, at, "Duplicate provider address", "A provider configuration was already passed to %s at %s. Each child provider configuration can be assigned only once.", child.ProviderName) {
				m.Providers = append(m.Providers, Passed{Child: child.ProviderName, Parent: parent, Range: at})
			}
		}
	}
}

// SourceDir returns the directory of the module, with slashes, in the form in which the sources of local modules spell
// it. If the root module in live/b calls ../../live/a, the result is ../../live/a, not ../a. With a symbolic link on
// the path, it is n.Led. base returns the directory of the root module, or of a module whose source is not local.
func (n *Node) SourceDir(base func(dir string) string) string {
	if n.Parent == nil || !IsLocal(n.Source) {
		return filepath.ToSlash(base(n.Module.Dir))
	}
	if n.Led != "" {
		return n.Led
	}
	return path.Join(n.Parent.SourceDir(base), n.Source)
}

// Slashed returns the source of a local module with slashes, even if it has the backslashes of Windows. It returns
// other sources unchanged.
func Slashed(source string) string {
	if s := strings.ReplaceAll(source, `\`, "/"); IsLocal(s) {
		return s
	}
	return source
}

// IsLocal reports whether a module source is a path relative to the calling module: it begins with ./ or ../, or is one
// of these directories. It returns false for an absolute path, which is the address of a package.
func IsLocal(source string) bool {
	return strings.HasPrefix(source, "./") || strings.HasPrefix(source, "../") || source == "." || source == ".."
}
