package provision

import (
	"slices"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/schema"
)

// Validate checks the arguments of a provisioner with the rules that its schema does not contain. Values and the whole
// object may be unknown. The object must not have marks. The diagnostics have the path of an argument, and contain no
// values.
func Validate(typ string, config cty.Value) []diag.Diagnostic {
	if !config.IsKnown() || config.IsNull() {
		return nil
	}
	c := checker{obj: config}
	switch typ {
	case LocalExec:
		c.local()
	case RemoteExec:
		c.remote()
	case File:
		c.file()
	}
	return c.ds
}

// ValidateConnection checks a connection block with the rules that its schema does not contain. Values and the whole
// object may be unknown. The object must not have marks.
func ValidateConnection(config cty.Value) []diag.Diagnostic {
	if !config.IsKnown() || config.IsNull() {
		return nil
	}
	c := checker{obj: config}
	c.connection()
	return c.ds
}

// check validates the arguments before the run. All values must be known.
func (r *run) check() []diag.Diagnostic {
	ds := Validate(r.Type, r.Config.Raw)
	far := r.Type != LocalExec
	switch {
	case far && (r.Connection.Raw == cty.NilVal || r.Connection.Raw.IsNull()):
		ds = append(ds, diag.Errorf(r.Type+" provisioner error", "Missing connection configuration for provisioner, which runs on another machine. Add a connection block to the provisioner or to the resource."))
	case far:
		ds = append(ds, ValidateConnection(r.Connection.Raw)...)
	}
	if !r.Config.Raw.IsWhollyKnown() || far && r.Connection.Raw != cty.NilVal && !r.Connection.Raw.IsWhollyKnown() {
		ds = append(ds, diag.Errorf(r.Type+" provisioner error", "Some arguments are unknown although the object exists. This is a bug in the object's provider, or in Lethe."))
	}
	return ds
}

func hasErrors(ds []diag.Diagnostic) bool {
	return slices.ContainsFunc(ds, func(d diag.Diagnostic) bool { return d.Severity == diag.Error })
}

type checker struct {
	obj cty.Value
	ds  []diag.Diagnostic
}

func (c *checker) refuse(arg, summary, detail string) {
	d := diag.Diagnostic{Severity: diag.Error, Summary: summary, Detail: detail}
	if arg != "" {
		d = d.In(cty.GetAttrPath(arg))
	}
	c.ds = append(c.ds, d)
}

// set reports whether an argument is not null. An unknown value counts as set.
func (c *checker) set(arg string) bool { return !c.obj.GetAttr(arg).IsNull() }

// known returns the text of an argument, and true if the argument is set and its value is known.
func (c *checker) known(arg string) (string, bool) {
	_, known := schema.Argument(c.obj, arg)
	return schema.Text(c.obj, arg), known
}

func (c *checker) local() {
	const summary = "Invalid local-exec provisioner command"
	v := c.obj.GetAttr("command")
	if s, known := c.known("command"); known && s == "" || v.IsKnown() && v.IsNull() {
		c.refuse("command", summary, "The command must be a non-empty string.")
	}
	c.noEmpty(LocalExec, "interpreter")
}

func (c *checker) remote() {
	const summary = "Invalid remote-exec provisioner configuration"
	n := 0
	for _, arg := range []string{"inline", "script", "scripts"} {
		if c.set(arg) {
			n++
		}
	}
	unknown := !c.obj.GetAttr("inline").IsKnown() || !c.obj.GetAttr("script").IsKnown() || !c.obj.GetAttr("scripts").IsKnown()
	if n == 0 || n > 1 && !unknown {
		c.refuse("", summary, `Exactly one of "inline", "script" and "scripts" must be set.`)
	}
	for _, arg := range []string{"inline", "scripts"} {
		if v := c.obj.GetAttr(arg); v.IsKnown() && !v.IsNull() && v.LengthInt() == 0 {
			c.refuse(arg, summary, `There is nothing to run: "`+arg+`" is empty.`)
		}
		c.noEmpty(RemoteExec, arg)
	}
	if s, known := c.known("script"); known && s == "" {
		c.refuse("script", summary, `"script" must name a file.`)
	}
}

// noEmpty reports an error for lists with empty strings.
func (c *checker) noEmpty(typ, arg string) {
	list := c.obj.GetAttr(arg)
	if !list.IsKnown() || list.IsNull() {
		return
	}
	for it := list.ElementIterator(); it.Next(); {
		if _, v := it.Element(); v.IsKnown() && (v.IsNull() || v.AsString() == "") {
			c.refuse(arg, "Invalid "+typ+" provisioner configuration", `The elements of "`+arg+`" must be non-empty strings.`)
			return
		}
	}
}

func (c *checker) file() {
	switch source, content := c.obj.GetAttr("source"), c.obj.GetAttr("content"); {
	case source.IsKnown() && content.IsKnown() && c.set("source") && c.set("content"):
		c.refuse("", "Cannot set both 'source' and 'content'", "Remove one of the two arguments.")
	case source.IsKnown() && content.IsKnown() && !c.set("source") && !c.set("content"):
		c.refuse("", "Must provide one of 'source' or 'content'", "Set source to the path of a file or directory, or content to the text to write.")
	}
	if s, known := c.known("source"); known && s == "" {
		c.refuse("source", "Invalid file provisioner configuration", "The source must be the path of a file or directory.")
	}
	if s, known := c.known("destination"); known && s == "" {
		c.refuse("destination", "Invalid file provisioner configuration", "The destination must be the path of a file or directory on the remote system.")
	}
}

func (c *checker) connection() {
	typ, known := c.known("type")
	switch {
	case known && typ == "winrm":
		c.refuse("type", "Connection type not supported", `Connections of type "winrm" are not supported. To reach Windows, install its OpenSSH server, and set type = "ssh" and target_platform = "windows".`)
		return
	case known && typ != "" && typ != "ssh":
		c.refuse("type", "Connection type not supported", `The only type of connection is "ssh".`)
		return
	}
	const summary = "Invalid connection configuration"
	if s, known := c.known("host"); known && s == "" || c.obj.GetAttr("host").IsKnown() && !c.set("host") {
		c.refuse("host", summary, "The host for provisioner cannot be empty.")
	}
	c.oneOf("target_platform", summary, "unix", "windows")
	c.oneOf("proxy_scheme", summary, "http", "https", "socks5")
	if s, known := c.known("timeout"); known && s != "" {
		if d, err := time.ParseDuration(s); err != nil || d <= 0 {
			c.ds = append(c.ds, diag.Warningf(summary, `The timeout is not a duration such as "30s" or "5m", so Lethe uses the default of %s.`, "5m").In(cty.GetAttrPath("timeout")))
		}
	}
	for _, arg := range []string{"host", "bastion_host", "proxy_host"} {
		if s, known := c.known(arg); known && strings.ContainsFunc(s, strange) {
			c.refuse(arg, summary, "The host must be a name or an address, without spaces and control characters.")
		}
	}
	for _, arg := range []string{"port", "bastion_port", "proxy_port"} {
		if n, _ := schema.Number(c.obj, arg); n < 0 || n > 65535 {
			c.refuse(arg, summary, "The port must be a whole number from 0 to 65535.")
		}
	}
	if s, known := c.known("certificate"); known && s != "" && c.obj.GetAttr("private_key").IsKnown() && !c.set("private_key") {
		c.refuse("certificate", summary, "A certificate needs its private key. Set private_key.")
	}
}

func strange(r rune) bool { return r <= ' ' || r == 0x7f || r == '/' || r == '@' }

func (c *checker) oneOf(arg, summary, one string, more ...string) {
	s, known := c.known(arg)
	if all := append([]string{one}, more...); known && s != "" && !slices.Contains(all, s) {
		c.refuse(arg, summary, arg+" has to be "+either(all)+".")
	}
}

func either(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
