package config

import (
	"github.com/hashicorp/hcl/v2"
)

var outputSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{
		{Name: "value", Required: true}, {Name: "description"}, {Name: "type"}, {Name: "sensitive"},
		{Name: "ephemeral"}, {Name: "deprecated"}, {Name: "depends_on"},
	},
	Blocks: []hcl.BlockHeaderSchema{{Type: "precondition"}, {Type: "postcondition"}},
}

func (l *loader) output(b *hcl.Block) {
	o := &Output{Name: b.Labels[0], Range: place(b)}
	if !l.name(b, 0, "Invalid output name") {
		return
	}
	if !l.first("output", o.Range, "Duplicate output definition", "An output named %q was already defined at %s. Output names must be unique within a module: rename or remove one of them.", o.Name) {
		return
	}
	l.mod.Outputs[o.Name] = o
	c, _ := l.rd.content(b.Body, outputSchema)
	o.Expr = argument(c, "value")
	l.rd.text(c.Attributes["description"], &o.Description)
	if a := c.Attributes["type"]; a != nil {
		o.Type, o.Defaults, _ = l.rd.typeConstraint(a.Expr)
	}
	l.rd.boolean(c.Attributes["sensitive"], &o.Sensitive)
	l.rd.boolean(c.Attributes["ephemeral"], &o.Ephemeral)
	l.rd.deprecation(c.Attributes["deprecated"], &o.Deprecated)
	o.DependsOn = l.rd.dependsOn(c.Attributes["depends_on"])
	for _, inner := range c.Blocks {
		l.outputCondition(o, inner)
	}
}

func (l *loader) outputCondition(o *Output, b *hcl.Block) {
	if b.Type == "postcondition" {
		l.rd.error(b.DefRange, "Postconditions are not allowed", "Output values can only have preconditions, not postconditions. Use a precondition block.")
		return
	}
	if cond, ok := l.rd.condition(b); ok {
		o.Preconditions = append(o.Preconditions, cond)
	}
}

// locals reads a locals block. It reports an error for an invalid or duplicate name, and ignores this local.
func (l *loader) locals(b *hcl.Block) {
	attrs, ds := b.Body.JustAttributes()
	l.rd.hcl(ds)
	for _, a := range byPlace(attrs) {
		if !ValidName(a.Name) {
			l.rd.error(a.NameRange, "Invalid local value name", "%s", badName)
			continue
		}
		if l.first("local", a.Range, "Duplicate local value definition", "A local value named %q was already defined at %s. Local value names must be unique within a module: rename or remove one of them.", a.Name) {
			l.mod.Locals[a.Name] = &Local{Expr: a.Expr, Range: a.Range}
		}
	}
}
