package rewrite

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/zclconf/go-cty/cty"
)

// permission is the result of following a value from its declaration to all its uses, to find out whether it may be
// ephemeral.
type permission struct {
	d       *Draft
	flips   []declaration        // variables, and outputs of child modules, that must become ephemeral
	callers []string             // calls of modules that pass the value
	visited map[declaration]bool // the declarations that were followed
}

// permits follows a declaration to all its uses. If each use accepts an ephemeral value, the result why is "".
// Otherwise it is the reason, as the end of a sentence. The first result lists the declarations and calls that must
// change together with the declaration.
func (d *Draft) permits(of declaration) (_ *permission, why string) {
	p := &permission{d: d, visited: map[declaration]bool{}}
	return p, p.follow(of)
}

// follow follows the uses of a declaration. It returns the reason why a use refuses an ephemeral value, or "" if all
// uses accept it.
func (p *permission) follow(of declaration) string {
	if p.visited[of] {
		return ""
	}
	p.visited[of] = true
	if of.kind == "var" || of.kind == "module" {
		p.flips = append(p.flips, of)
	}
	m := of.m
	if of.kind == "module" { // of is an output: its uses are in the modules that call its module
		why := ""
		p.d.calls(m, func(parent *module, call string) {
			if why == "" {
				why = p.uses(parent, symbol{"module", call, of.a})
			}
		})
		return why
	}
	return p.uses(m, of.symbol)
}

func (p *permission) uses(m *module, s symbol) string {
	if name := m.inJSON(s); name != "" {
		return fmt.Sprintf("%s uses it, which is JSON", name)
	}
	for _, u := range m.uses(s) {
		if why := p.use(m, u, s); why != "" {
			return why
		}
	}
	return ""
}

// use returns the reason why one reference refuses an ephemeral value, or "" if it accepts the value.
func (p *permission) use(m *module, u use, s symbol) string {
	switch u.kind {
	case session, provision, condition:
		return ""
	case order:
		if s.kind == "data" {
			return ""
		}
	case argument:
		if u.block.Type == "ephemeral" || u.block.Type == "resource" && p.d.writeOnly(m, u) {
			return ""
		}
	case local:
		return p.follow(declaration{m, symbol{"local", u.name, ""}})
	case input:
		call := u.block.Labels[0]
		p.callers = append(p.callers, fmt.Sprintf("module.%s (%s)", call, u.f.name))
		for _, child := range p.d.children(m, call) {
			if why := p.follow(declaration{child, symbol{"var", u.name, ""}}); why != "" {
				return why
			}
		}
		return ""
	case output:
		if m.root() {
			return fmt.Sprintf("output.%s stores it", u.name)
		}
		return p.follow(declaration{m, symbol{"module", u.name, ""}})
	}
	return describe(u) + " uses it, and accepts no ephemeral value"
}

// writeOnly reports whether a reference is in a write-only argument.
func (d *Draft) writeOnly(m *module, u use) bool {
	s := d.schema(m, u.block)
	return s != nil && s.IsWriteOnly(attrs(u.path))
}

// attrs returns a path of attribute steps with these names.
func attrs(names []string) cty.Path {
	var out cty.Path
	for _, n := range names {
		out = out.GetAttr(n)
	}
	return out
}

// describe names the place of a reference for messages, without its line: earlier moves may have changed the lines.
func describe(u use) string {
	if modes[u.block.Type] == 0 {
		return fmt.Sprintf("a %s block in %s", u.block.Type, u.f.name)
	}
	of := addr.Resource{Mode: modes[u.block.Type], Type: u.block.Labels[0], Name: u.block.Labels[1]}.Local()
	switch {
	case len(u.path) > 0 && u.kind != repeat:
		of += "." + strings.Join(u.path, ".")
	case u.name != "":
		of += "." + u.name
	}
	return fmt.Sprintf("%s (%s)", of, u.f.name)
}

// declare makes variables and outputs ephemeral. It returns false if one of them is declared in JSON, or the edit
// fails.
func (d *Draft) declare(flips []declaration) bool {
	var edits []edit
	seen := map[*hclsyntax.Block]bool{}
	for _, of := range flips {
		typ := "variable"
		if of.kind == "module" {
			typ = "output"
		}
		found := false
		of.m.blocks(typ, []string{of.a}, func(f *part, b *hclsyntax.Block) {
			if found || seen[b] { // the first block is the declaration, and the others are in override files
				return
			}
			found, seen[b] = true, true
			switch a := b.Body.Attributes["ephemeral"]; {
			case a == nil:
				after := b.Body.Attributes["sensitive"]
				if after == nil {
					after = b.Body.Attributes["type"]
				}
				edits = append(edits, insert(f, b, after, "ephemeral = true")...)
			default:
				edits = append(edits, replace(f, a.Expr.Range(), "true"))
			}
		})
		if !found && !seenAny(of, typ, seen) {
			return false // the declaration is in a JSON file
		}
	}
	if !d.apply(edits) {
		return false
	}
	for _, of := range flips {
		if of.kind == "module" {
			d.note(of, "", "is ephemeral afterwards, which is not permitted there.")
		}
	}
	return true
}

// seenAny reports whether a declaration has a block in seen.
func seenAny(of declaration, typ string, seen map[*hclsyntax.Block]bool) bool {
	any := false
	of.m.blocks(typ, []string{of.a}, func(_ *part, b *hclsyntax.Block) { any = any || seen[b] })
	return any
}
