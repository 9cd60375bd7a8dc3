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
		rd.error(at, `Invalid "moved" address`, "Ephemeral resources are not kept from one run to the next, so there is nothing to move. Remove the block.")
	case (from.Mode == 0) != (to.Mode == 0):
		rd.error(m.Range, `Invalid "moved" addresses`, "The \"from\" and \"to\" addresses must either both refer to resources or both refer to modules.")
	case from.Mode != to.Mode:
		rd.error(m.Range, `Invalid "moved" addresses`, "The \"from\" and \"to\" addresses must be of one mode: a data source does not become a managed resource, or the other way around.")
	case from.String() == to.String():
		rd.error(m.Range, "Redundant move statement", "This statement declares a move from %s to the same address, which is the same as not declaring this move at all. Remove the block, or correct one of the addresses.", from)
	default:
		return true
	}
	return false
}
