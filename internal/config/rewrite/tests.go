package rewrite

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// note records the effect of the last edits on a declaration.
func (d *Draft) note(of declaration, attribute, now string) {
	d.effects = append(d.effects, effect{of, attribute, now, len(d.log)})
}

// Broken returns the places in test files that refer to a declaration that a move has removed or made null, and the
// runs that test a module with an output that has become ephemeral. Each is a sentence.
func (d *Draft) Broken() []string { return d.brokenBy(d.effects) }

// brokenBy returns the places in test files that no longer fit after some effects, as sentences.
func (d *Draft) brokenBy(effects []effect) []string {
	var out []string
	for _, t := range d.tests {
		for _, e := range effects {
			for _, text := range t.broken(e) {
				if !slices.Contains(out, text) {
					out = append(out, text)
				}
			}
		}
	}
	return out
}

// broken returns the places of a test file that no longer fit after an effect, as sentences.
func (t test) broken(e effect) []string {
	var out []string
	if e.kind == "module" {
		for _, p := range t.files[0].parts {
			for b := range p.blocks() {
				if b.Type == "run" && t.tests(b, e.m) {
					out = append(out, fmt.Sprintf("%s: the output %q of the module under test %s", p.at(b.TypeRange.Start.Line), e.a, e.now))
				}
			}
		}
		return out
	}
	name := e.String()
	if e.attribute != "" {
		name += "." + e.attribute
	}
	for _, u := range t.uses(e.symbol) {
		names := u.steps(e.symbol)
		switch {
		case !t.tests(u.block, e.m):
		case e.attribute == "" || len(names) > 0 && names[0] == e.attribute || len(names) == 0 && u.reads(e.symbol, e.attribute):
			out = append(out, fmt.Sprintf("%s: %s %s", u.f.at(u.traversal.SourceRange().Start.Line), name, e.now))
		}
	}
	if file := t.inJSON(e.symbol); file != "" {
		out = append(out, fmt.Sprintf("%s: %s %s", file, name, e.now))
	}
	return out
}

// at returns the name of a file and the number of a line in it, for messages. line is the line inside the part.
func (p *part) at(line int) string { return fmt.Sprintf("%s, line %d", p.name, p.line()+line) }

// tests reports whether a block of a test file is about a module. A block outside of runs may be about any module.
func (t test) tests(b *hclsyntax.Block, m *module) bool {
	if b.Type != "run" {
		return true
	}
	dir := t.dir
	for _, inner := range b.Body.Blocks {
		if a := inner.Body.Attributes["source"]; inner.Type == "module" && a != nil {
			if v, ds := a.Expr.Value(nil); ds.HasErrors() || v.Type() != cty.String || v.IsNull() || !v.IsKnown() {
				dir = ""
			} else {
				dir = filepath.Join(dir, filepath.FromSlash(v.AsString()))
			}
		}
	}
	return filepath.Clean(dir) == filepath.Clean(m.nodes[0].Module.Dir)
}
