package config

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
)

var removedSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{{Name: "from", Required: true}},
	Blocks: []hcl.BlockHeaderSchema{
		{Type: "lifecycle"}, {Type: "connection"}, {Type: "provisioner", LabelNames: []string{"type"}},
	},
}

var removedLifecycleSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "destroy"}}}

func (l *loader) removed(b *hcl.Block) {
	c, ok := l.rd.content(b.Body, removedSchema)
	if !ok {
		return
	}
	r := &Removed{Range: place(b)}
	r.From, ok = l.rd.endpoint(c.Attributes["from"])
	ok = ok && l.rd.removable(r.From)
	if b := l.rd.only(c.Blocks.OfType("lifecycle"), "removed block"); b != nil {
		l.rd.removedLifecycle(r, b)
	}
	if !ok || r.From.Target.Mode == addr.Managed {
		r.Connection = l.rd.connection(l.rd.only(c.Blocks.OfType("connection"), `"removed" block`))
	}
	for _, inner := range c.Blocks {
		l.rd.removedExtra(r, inner, ok)
	}
	if ok {
		l.mod.Removed = append(l.mod.Removed, r)
	}
}

// removable reports whether a removed block may have the given address. If not, it reports an error.
func (rd *reader) removable(e Endpoint) bool {
	switch t := e.Target; {
	case t.Mode == addr.Data:
		rd.error(e.Range, "Data source address not allowed", "A removed block cannot name a data source. Remove this block and the data block: the data source then leaves the state.")
	case t.Mode == addr.Ephemeral:
		rd.error(e.Range, "Ephemeral resource address is not allowed", "Ephemeral resources are not stored in the state, so they cannot be removed from it. Remove this block.")
	case t.Mode != 0 && t.KeyGiven:
		rd.error(e.Range, "Resource instance keys not allowed", "A removed block must name a whole resource, such as test_instance.foo. Remove the key. To forget one instance, use the state rm command.")
	case strings.ContainsRune(t.String(), '['):
		rd.error(e.Range, "Module instance keys not allowed", "A removed block must name a whole module, such as module.foo. Remove the key. To forget one instance, use the state rm command.")
	default:
		return true
	}
	return false
}

func (rd *reader) removedLifecycle(r *Removed, b *hcl.Block) {
	c, _ := rd.content(b.Body, removedLifecycleSchema)
	if a := c.Attributes["destroy"]; a != nil {
		destroy := true
		rd.boolean(a, &destroy)
		r.Destroy = &destroy
	}
}

// removedExtra reads a provisioner block of a removed block, and checks a connection block, which removed reads. Both
// are allowed only if the address is a managed resource, and only provisioners that run at the destruction are allowed.
// removedExtra reports an error for other such blocks. known is false if the address is invalid.
func (rd *reader) removedExtra(r *Removed, b *hcl.Block, known bool) {
	other := known && r.From.Target.Mode != addr.Managed
	switch {
	case b.Type == "connection" && other:
		rd.error(b.DefRange, "Invalid connection block", "A connection block is valid only if the removed block names a managed resource. Remove the connection block.")
	case b.Type == "provisioner" && other:
		rd.error(b.DefRange, "Invalid provisioner block", "Provisioners are valid only if the removed block names a managed resource. Remove the provisioner.")
	case b.Type == "provisioner":
		if p := rd.provisioner(b); p != nil && !p.Destroy {
			rd.error(b.DefRange, "Invalid provisioner block", "Only destroy-time provisioners are valid in \"removed\" blocks. Add this argument:\n    when = destroy")
		} else if p != nil {
			r.Provisioners = append(r.Provisioners, p)
		}
	}
}
