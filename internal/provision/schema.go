package provision

import (
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/lethe-iac/lethe/internal/schema"
)

// The types of provisioners.
const (
	LocalExec  = "local-exec"
	RemoteExec = "remote-exec"
	File       = "file"
)

// Schema describes the arguments of a type of provisioner, beside those that all have; nil if
// there is no such type.
func Schema(typ string) *schema.Block { return blocks[typ] }

// ConnectionSchema describes a connection block.
func ConnectionSchema() *schema.Block { return connectionBlock }

var blocks = map[string]*schema.Block{
	LocalExec: block(
		required("command", cty.String),
		optional("environment", cty.Map(cty.String)),
		optional("interpreter", cty.List(cty.String)),
		optional("quiet", cty.Bool),
		optional("working_dir", cty.String),
	),
	RemoteExec: block(
		optional("inline", cty.List(cty.String)),
		optional("script", cty.String),
		optional("scripts", cty.List(cty.String)),
	),
	File: block(
		optional("content", cty.String),
		required("destination", cty.String),
		optional("source", cty.String),
	),
}

// connectionBlock has a host that may be missing, because the block of a provisioner adds to that of
// its resource; ValidateConnection wants one. It has the arguments of WinRM as well, so that their
// users get one error, and that the one which helps.
var connectionBlock = block(
	optional("agent", cty.Bool),
	optional("agent_identity", cty.String),
	optional("bastion_certificate", cty.String),
	optional("bastion_host", cty.String),
	optional("bastion_host_key", cty.String),
	optional("bastion_password", cty.String),
	optional("bastion_port", cty.Number),
	optional("bastion_private_key", cty.String),
	optional("bastion_user", cty.String),
	optional("cacert", cty.String),
	optional("certificate", cty.String),
	optional("host", cty.String),
	optional("host_key", cty.String),
	optional("https", cty.Bool),
	optional("insecure", cty.Bool),
	optional("password", cty.String),
	optional("port", cty.Number),
	optional("private_key", cty.String),
	optional("proxy_host", cty.String),
	optional("proxy_port", cty.Number),
	optional("proxy_scheme", cty.String),
	optional("proxy_user_name", cty.String),
	optional("proxy_user_password", cty.String),
	optional("script_path", cty.String),
	optional("target_platform", cty.String),
	optional("timeout", cty.String),
	optional("type", cty.String),
	optional("use_ntlm", cty.Bool),
	optional("user", cty.String),
)

func block(attrs ...*schema.Attr) *schema.Block {
	slices.SortFunc(attrs, func(a, b *schema.Attr) int { return strings.Compare(a.Name, b.Name) })
	return &schema.Block{Attrs: attrs}
}

func required(name string, ty cty.Type) *schema.Attr {
	return &schema.Attr{Name: name, Type: ty, Required: true}
}

func optional(name string, ty cty.Type) *schema.Attr {
	return &schema.Attr{Name: name, Type: ty, Optional: true}
}
