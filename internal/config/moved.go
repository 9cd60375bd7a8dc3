package config

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
)

var movedSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "from", Required: true}, {Name: "to", Required: true}}}

func (l *loader) moved(b *hcl.Block) {
	c, ok := l.rd.content(b.Body, movedSchema)
	if !ok {
		return
	}
	m := &Moved{Range: place(b)}
	var okFrom, okTo bool
	m.From, okFrom = l.rd.endpoint(c.Attributes["from"])
	m.To, okTo = l.rd.endpoint(c.Attributes["to"])
	if okFrom && okTo && l.rd.validMove(m) {
		l.mod.Moved = append(l.mod.Moved, m)
	}
}

func (rd *reader) validMove(m *Moved) bool {
	from, to := m.From.Target, m.To.Target
	switch {
	case from.Mode == addr.Ephemeral || to.Mode == addr.Ephemeral:
		at := m.From.Range
		if from.Mode != addr.Ephemeral {
			at = m.To.Range
		}
		rd.error(at, `Invalid "moved" address`, "Ephemeral resources are not stored in the state, so they cannot be moved. Remove the block.")
	case (from.Mode == 0) != (to.Mode == 0):
		rd.error(m.Range, `Invalid "moved" addresses`, "The \"from\" and \"to\" addresses must either both refer to resources or both refer to modules.")
	case from.Mode != to.Mode:
		rd.error(m.Range, `Invalid "moved" addresses`, "The \"from\" and \"to\" addresses must both be managed resources, or both be data sources.")
	case from.String() == to.String():
		rd.error(m.Range, "Redundant move statement", "This block moves %s to the same address, so it has no effect. Remove the block, or correct one of the addresses.", from)
	default:
		return true
	}
	return false
}
