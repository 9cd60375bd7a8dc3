package provision

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/lethe-iac/lethe/internal/schema"
)

// The types of provisioners.
const (
	LocalExec  = "local-exec"
	RemoteExec = "remote-exec"
	File       = "file"
)

// Schema returns the arguments of a type of provisioner, without the arguments that all types have. It returns nil for
// an unknown type.
func Schema(typ string) *schema.Block { return blocks[typ] }

// ConnectionSchema returns the arguments of a connection block.
func ConnectionSchema() *schema.Block { return connectionBlock }

var blocks = map[string]*schema.Block{
	LocalExec: schema.Arguments(
		schema.Required("command", cty.String, ""),
		schema.Optional("environment", cty.Map(cty.String), ""),
		schema.Optional("interpreter", cty.List(cty.String), ""),
		schema.Optional("quiet", cty.Bool, ""),
		schema.Optional("working_dir", cty.String, ""),
	),
	RemoteExec: schema.Arguments(
		schema.Optional("inline", cty.List(cty.String), ""),
		schema.Optional("script", cty.String, ""),
		schema.Optional("scripts", cty.List(cty.String), ""),
	),
	File: schema.Arguments(
		schema.Optional("content", cty.String, ""),
		schema.Required("destination", cty.String, ""),
		schema.Optional("source", cty.String, ""),
	),
}

// connectionBlock does not require a host, because the connection of a provisioner is merged with the connection of its
// resource; ValidateConnection requires it. It contains the arguments of WinRM, so that their users get only the error
// about WinRM.
var connectionBlock = schema.Arguments(
	schema.Optional("agent", cty.Bool, ""),
	schema.Optional("agent_identity", cty.String, ""),
	schema.Optional("bastion_certificate", cty.String, ""),
	schema.Optional("bastion_host", cty.String, ""),
	schema.Optional("bastion_host_key", cty.String, ""),
	schema.Optional("bastion_password", cty.String, ""),
	schema.Optional("bastion_port", cty.Number, ""),
	schema.Optional("bastion_private_key", cty.String, ""),
	schema.Optional("bastion_user", cty.String, ""),
	schema.Optional("cacert", cty.String, ""),
	schema.Optional("certificate", cty.String, ""),
	schema.Optional("host", cty.String, ""),
	schema.Optional("host_key", cty.String, ""),
	schema.Optional("https", cty.Bool, ""),
	schema.Optional("insecure", cty.Bool, ""),
	schema.Optional("password", cty.String, ""),
	schema.Optional("port", cty.Number, ""),
	schema.Optional("private_key", cty.String, ""),
	schema.Optional("proxy_host", cty.String, ""),
	schema.Optional("proxy_port", cty.Number, ""),
	schema.Optional("proxy_scheme", cty.String, ""),
	schema.Optional("proxy_user_name", cty.String, ""),
	schema.Optional("proxy_user_password", cty.String, ""),
	schema.Optional("script_path", cty.String, ""),
	schema.Optional("target_platform", cty.String, ""),
	schema.Optional("timeout", cty.String, ""),
	schema.Optional("type", cty.String, ""),
	schema.Optional("use_ntlm", cty.Bool, ""),
	schema.Optional("user", cty.String, ""),
)
