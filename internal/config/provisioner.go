package config

import (
	"github.com/hashicorp/hcl/v2"
)

var provisionerSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{{Name: "when"}, {Name: "on_failure"}},
	Blocks:     []hcl.BlockHeaderSchema{{Type: "_"}, {Type: "connection"}, {Type: "lifecycle"}},
}

// vendorProvisioners holds the provisioners that Terraform and OpenTofu have removed.
var vendorProvisioners = map[string]bool{"chef": true, "habitat": true, "puppet": true, "salt-masterless": true}

// provisioners holds the supported provisioners.
var provisioners = map[string]bool{"local-exec": true, "remote-exec": true, "file": true}

// provisioner reads a provisioner block. If the type is not supported, it reports an error and returns nil.
func (rd *reader) provisioner(b *hcl.Block) *Provisioner {
	p := &Provisioner{Type: b.Labels[0], Range: place(b)}
	switch {
	case vendorProvisioners[p.Type]:
		rd.error(b.LabelRanges[0], "The \""+p.Type+"\" provisioner has been removed", "The %q provisioner is no longer supported. Use \"remote-exec\" to run its command line tools, or build machine images with it.", p.Type)
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

// oneOf reads an argument whose value must be one of two keywords. It returns true if the value is the second keyword,
// and false if a is nil. It reports an error for any other value.
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

// connection reads a connection block. It reports an error for the type winrm, which is not supported. It returns nil
// if b is nil.
func (rd *reader) connection(b *hcl.Block) *Connection {
	if b == nil {
		return nil
	}
	c, _, _ := b.Body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "type"}}})
	if a := c.Attributes["type"]; a != nil {
		if text, ok := plainText(a.Expr); ok && text == "winrm" {
			rd.error(a.Expr.Range(), "Connection type not supported", "Connections of type \"winrm\" are not supported. To reach Windows, install its OpenSSH server, and set type = \"ssh\" and target_platform = \"windows\".")
		}
	}
	return &Connection{Body: b.Body}
}
