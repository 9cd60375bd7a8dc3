package config

import (
	"github.com/hashicorp/hcl/v2"
)

var provisionerSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{{Name: "when"}, {Name: "on_failure"}},
	Blocks:     []hcl.BlockHeaderSchema{{Type: "_"}, {Type: "connection"}, {Type: "lifecycle"}},
}

// vendorProvisioners are those that Terraform and OpenTofu have removed.
var vendorProvisioners = map[string]bool{"chef": true, "habitat": true, "puppet": true, "salt-masterless": true}

// provisioners are those that there are.
var provisioners = map[string]bool{"local-exec": true, "remote-exec": true, "file": true}

// provisioner reads a provisioner block, nil if it cannot be used.
func (rd *reader) provisioner(b *hcl.Block) *Provisioner {
	p := &Provisioner{Type: b.Labels[0], Range: place(b)}
	switch {
	case vendorProvisioners[p.Type]:
		rd.error(b.LabelRanges[0], "The \""+p.Type+"\" provisioner has been removed", "The %q provisioner was removed from the language years ago. Use \"remote-exec\" to run its command line tools, or prepare machine images with it instead.", p.Type)
		return nil
	case !provisioners[p.Type]:
		rd.error(b.LabelRanges[0], "Missing required provisioner plugin", "There is no provisioner %q.%s Provisioners are local-exec, remote-exec and file; provisioner plugins are not supported.", p.Type, suggestion(p.Type, sortedKeys(provisioners)))
		return nil
	}
	c, rest, ds := b.Body.PartialContent(provisionerSchema)
	rd.hcl(ds)
	p.Destroy = rd.oneOf(c.Attributes["when"], "create", "destroy")
	p.Continue = rd.oneOf(c.Attributes["on_failure"], "fail", "continue")
	p.Connection = rd.connection(rd.only(c.Blocks.OfType("connection"), "provisioner"))
	p.Body = rd.body("provisioner", b, rest, c, provisionerSchema)
	return p
}

// oneOf reads an argument that is one of two keywords, and reports whether it is the second.
func (rd *reader) oneOf(a *hcl.Attribute, first, second string) bool {
	if a == nil {
		return false
	}
	kw := rd.keyword(a)
	if kw != first && kw != second {
		rd.error(a.Expr.Range(), "Invalid \""+a.Name+"\" keyword", "The %q argument requires one of the following keywords: %s or %s.", a.Name, first, second)
	}
	return kw == second
}

// connection takes a connection block, and refuses the one type of connection that is gone.
func (rd *reader) connection(b *hcl.Block) *Connection {
	if b == nil {
		return nil
	}
	c, _, _ := b.Body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "type"}}})
	if a := c.Attributes["type"]; a != nil {
		if text, ok := plainText(a.Expr); ok && text == "winrm" {
			rd.error(a.Expr.Range(), "Connection type not supported", "Connections of type \"winrm\" are not supported. Windows can be reached with type \"ssh\": install the OpenSSH server that comes with it, and set target_platform = \"windows\".")
		}
	}
	return &Connection{Body: b.Body}
}
