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

// removable checks what a removed block points at.
func (rd *reader) removable(e Endpoint) bool {
	switch t := e.Target; {
	case t.Mode == addr.Data:
		rd.error(e.Range, "Data source address not allowed", "Data sources are never destroyed, so they are not valid targets of removed blocks. To remove the data source from state, remove the data source block from configuration.")
	case t.Mode == addr.Ephemeral:
		rd.error(e.Range, "Ephemeral resource address is not allowed", "Ephemeral resources are not kept from one run to the next, so there is nothing to remove. Remove this block.")
	case t.Mode != 0 && t.KeyGiven:
		rd.error(e.Range, "Resource instance keys not allowed", "Resource address must be a resource (e.g. \"test_instance.foo\"), not a resource instance (e.g. \"test_instance.foo[1]\"). Remove the key, or use the state rm command to forget one instance.")
	case strings.ContainsRune(t.String(), '['):
		rd.error(e.Range, "Module instance keys not allowed", "Module address must be a module (e.g. \"module.foo\"), not a module instance (e.g. \"module.foo[1]\"). Remove the key, or use the state rm command to forget one instance.")
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

// removedExtra reads provisioners, which like the connection only make sense for resources.
func (rd *reader) removedExtra(r *Removed, b *hcl.Block, known bool) {
	other := known && r.From.Target.Mode != addr.Managed
	switch {
	case b.Type == "connection" && other:
		rd.error(b.DefRange, "Invalid connection block", "Provisioner connection configuration is valid only when a removed block targets a managed resource. Remove the block.")
	case b.Type == "provisioner" && other:
		rd.error(b.DefRange, "Invalid provisioner block", "Provisioners are valid only when a removed block targets a managed resource. Remove the block.")
	case b.Type == "provisioner":
		if p := rd.provisioner(b); p != nil && !p.Destroy {
			rd.error(b.DefRange, "Invalid provisioner block", "Only destroy-time provisioners are valid in \"removed\" blocks. To declare a destroy-time provisioner, use:\n    when = destroy")
		} else if p != nil {
			r.Provisioners = append(r.Provisioners, p)
		}
	}
}
