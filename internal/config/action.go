package config

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
)

// action reads an action block into the module. It reports mistakes, and omits a block whose labels are not valid names
// or were declared before.
func (l *loader) action(b *hcl.Block) {
	r := &Resource{Name: Name{Mode: addr.Action, Type: b.Labels[0], Name: b.Labels[1]}, Range: place(b), TypeRange: b.LabelRanges[0]}
	okType := l.name(b, 0, "Invalid action type name")
	if !l.name(b, 1, "Invalid action name") || !okType {
		return
	}
	if first := l.mod.Actions[r.Name]; first != nil {
		l.rd.again(r.Range, first.Range, "Duplicate action block", "An action %q named %q was already declared at %s. Action names must be unique per type in each module: rename or remove one of them.", r.Type, r.Name.Name, first.Range)
		return
	}
	l.mod.Actions[r.Name] = r
	schema := resourceSchemas[addr.Action]
	c, rest, ds := b.Body.PartialContent(schema)
	l.rd.hcl(ds)
	l.rd.repeat(&r.Repeat, c)
	l.ownProvider(r, c.Attributes["provider"])
	r.Body = l.rd.body("action", b, rest, c, schema)
}
