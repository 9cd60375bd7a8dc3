package lethe

import (
	"cmp"
	"context"
	"io"
	"net"
	"path/filepath"
	"time"

	"github.com/lethe-iac/lethe/internal/paths"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/builtin"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/sshconn"
	"github.com/zclconf/go-cty/cty"
)

// tunnel returns the ephemeral type lethe_ssh_tunnel. While the lease is open, connections to a local port are
// forwarded through an SSH server to a remote address.
func (p *Provider) tunnel() *builtin.Ephemeral {
	return &builtin.Ephemeral{
		Schema: describe("A tunnel from a local address to an address behind an SSH server. It exists while the resource is open.",
			schema.Required("tunnel_host", cty.String, "The SSH server."),
			schema.Optional("tunnel_port", cty.Number, "Its port; default: 22."),
			schema.Required("user", cty.String, "The user name on the SSH server."),
			schema.Required("remote_host", cty.String, "The remote address, as seen from the SSH server."),
			schema.Required("remote_port", cty.Number, "The port there."),
			&schema.Attr{Name: "private_key", Type: cty.String, Optional: true, Sensitive: true, Description: "The private key to log in with, in PEM or OpenSSH format."},
			schema.Optional("certificate", cty.String, "The certificate of that key, in OpenSSH format."),
			schema.Optional("agent", cty.Bool, "Whether to use the keys of the SSH agent; default: true if an agent exists."),
			schema.Optional("host_key", cty.String, "The public keys of the SSH server, or of its certificate authority, one on each line; default: the keys in known_hosts."),
			optionalComputed("local_port", cty.Number, "The local port; default: a free port."),
			schema.Optional("timeout", cty.String, `The time limit to connect to the SSH server; default: "30s".`),
			computed("local_host", cty.String, "The host of the local address: "+loopback+"."),
			computed("local_address", cty.String, "The local address, host:port."),
		),
		Validate: validateTunnel,
		Open:     p.openTunnel,
		Close:    func(_ context.Context, id []byte) provider.Diags { return p.tunnels.close(string(id)) },
	}
}

func validateTunnel(config cty.Value) (ds provider.Diags) {
	const summary = "Invalid lethe_ssh_tunnel"
	for _, name := range []string{"tunnel_host", "remote_host", "user"} {
		if v := config.GetAttr(name); v.IsKnown() && !v.IsNull() && v.AsString() == "" {
			ds = append(ds, refused(name, summary, "%s must not be empty.", name))
		}
	}
	for _, name := range []string{"tunnel_port", "remote_port", "local_port"} {
		if n, set := schema.Number(config, name); set && (n < 1 || n > 65535) {
			ds = append(ds, refused(name, summary, "%s must be a whole number from 1 to 65535.", name))
		}
	}
	if _, ok := duration(config, "timeout", 0); !ok {
		ds = append(ds, badDuration("timeout"))
	}
	if key := config.GetAttr("private_key"); key.IsKnown() && key.IsNull() && schema.Text(config, "certificate") != "" {
		ds = append(ds, refused("certificate", summary, "A certificate needs its private key. Set private_key."))
	}
	return ds
}

func (p *Provider) openTunnel(ctx context.Context, config cty.Value) (builtin.Lease, provider.Diags) {
	ctx, done := p.until(ctx)
	defer done()
	t, ds := p.makeTunnel(ctx, config)
	if ds.HasErrors() {
		return builtin.Lease{}, ds
	}
	if ds := t.start(ctx); ds.HasErrors() {
		t.end()
		return builtin.Lease{}, ds
	}
	port := t.listener.Addr().(*net.TCPAddr).Port
	out := config.AsValueMap()
	out["local_port"] = cty.NumberIntVal(int64(port))
	out["local_host"] = cty.StringVal(loopback)
	out["local_address"] = cty.StringVal(sshconn.Join(loopback, port))
	return builtin.Lease{Result: cty.ObjectVal(out), Private: []byte(p.tunnels.add(t))}, nil
}

// makeTunnel returns a tunnel for a configuration. The tunnel is not open yet.
func (p *Provider) makeTunnel(ctx context.Context, config cty.Value) (*tunnel, provider.Diags) {
	port, _ := schema.Number(config, "tunnel_port")
	remotePort, _ := schema.Number(config, "remote_port")
	localPort, _ := schema.Number(config, "local_port")
	t := &tunnel{
		host:   sshconn.Host{Name: schema.Text(config, "tunnel_host"), Port: cmp.Or(port, 22), User: schema.Text(config, "user")},
		remote: sshconn.Join(schema.Text(config, "remote_host"), remotePort),
		local:  sshconn.Join(loopback, localPort),
		conns:  map[io.Closer]bool{},
	}
	t.limit, _ = duration(config, "timeout", 30*time.Second)
	t.life, t.cancel = context.WithCancel(context.Background())
	ds := p.credentials(ctx, t, config)
	ds = append(ds, p.hostKeys(t, config)...)
	if ds.HasErrors() {
		t.end()
	}
	return t, ds
}

// credentials sets the key, the certificate and the SSH agent for the login.
func (p *Provider) credentials(ctx context.Context, t *tunnel, config cty.Value) provider.Diags {
	const summary = "Cannot log in to the SSH server"
	var err error
	if pem := schema.Text(config, "private_key"); pem != "" {
		if t.host.Key, err = sshconn.ParseKey(pem); err != nil {
			return fails(refused("private_key", summary, "The private key cannot be used: %s.", err))
		}
	}
	if cert := schema.Text(config, "certificate"); cert != "" && t.host.Key != nil {
		if t.host.Cert, err = sshconn.Certify(t.host.Key, cert); err != nil {
			return fails(refused("certificate", summary, "The certificate cannot be used: %s.", err))
		}
	}
	use := config.GetAttr("agent")
	if use.IsNull() || use.True() {
		if t.host.Agent, err = sshconn.FindAgent(ctx, p.getenv("SSH_AUTH_SOCK"), ""); err != nil && !use.IsNull() {
			return fails(refused("agent", summary, "No SSH agent answers at SSH_AUTH_SOCK."))
		}
	}
	if t.host.Key == nil && t.host.Agent == nil {
		return fails(refused("private_key", summary, "There is no key to log in with. Set private_key, or start an SSH agent with a key."))
	}
	return nil
}

// hostKeys sets the accepted host keys of the SSH server. It returns an error if no key is known: without a key,
// another server could pretend to be the SSH server and read the data.
func (p *Provider) hostKeys(t *tunnel, config cty.Value) provider.Diags {
	const summary = "SSH server not known"
	var err error
	if keys := schema.Text(config, "host_key"); keys != "" {
		if t.host.HostKeys, err = sshconn.ParseHostKeys(keys); err != nil {
			return fails(refused("host_key", summary, "The host_key cannot be used: %s.", err))
		}
		return nil
	}
	files := []string{"/etc/ssh/ssh_known_hosts"}
	if home := paths.Home(p.getenv); home != "" {
		files = append(files, filepath.Join(home, ".ssh", "known_hosts"))
	}
	switch t.host.HostKeys, err = sshconn.Known(t.host.Address(), files...); {
	case err != nil:
		return fails(refused("tunnel_host", summary, "The keys of known SSH servers cannot be read: %s.", err))
	case t.host.HostKeys == nil:
		return fails(refused("tunnel_host", summary, "known_hosts has no key of the SSH server. Set host_key to its public key, or connect once with ssh. ssh-keyscan shows the key that the server presents: compare it with its owner's."))
	}
	return nil
}
