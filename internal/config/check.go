package config

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
)

var checkSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
	{Type: "assert"},
	{Type: "data", LabelNames: []string{"type", "name"}},
	{Type: "ephemeral", LabelNames: []string{"type", "name"}},
}}

func (l *loader) check(b *hcl.Block) {
	ch := &Check{Name: b.Labels[0], Range: place(b)}
	if !l.name(b, 0, "Invalid check block name") {
		return
	}
	if !l.first("check", ch.Range, "Duplicate check \""+ch.Name+"\" configuration", "A check block named %q was already declared at %s. Check blocks must be unique within each module: rename or remove one of them.", ch.Name) {
		return
	}
	l.mod.Checks[ch.Name] = ch
	c, ok := l.rd.content(b.Body, checkSchema)
	asserts := c.Blocks.OfType("assert")
	for _, inner := range asserts {
		if cond, ok := l.rd.condition(inner); ok {
			ch.Asserts = append(ch.Asserts, cond)
		}
	}
	if ok && len(asserts) == 0 {
		l.rd.error(ch.Range, "Zero assert blocks", "Check blocks must have at least one assert block. Add one, or remove the check block.")
	}
	l.scoped(ch, c.Blocks)
}

// scoped reads the data and ephemeral blocks inside a check block. If there is a second data block, scoped reports an
// error.
func (l *loader) scoped(ch *Check, blocks hcl.Blocks) {
	var data *hcl.Block
	for _, b := range blocks {
		mode := addr.Ephemeral
		switch b.Type {
		case "assert":
			continue
		case "data":
			mode = addr.Data
			if data != nil {
				l.rd.again(place(b), place(data), "Multiple data resource blocks", "This check block already has a data resource defined at %s. Move one of them to another check block, or out of this block.", place(data))
				continue
			}
			data = b
		}
		if r := l.resource(b, mode, ch.Name); r != nil {
			ch.Scoped = append(ch.Scoped, r.Name)
		}
	}
}
