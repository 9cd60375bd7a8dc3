package lethe

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/builtin"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/sshconn"
	"github.com/zclconf/go-cty/cty"
)

const (
	loopback = "127.0.0.1" // tunnels begin here, and nowhere that others on the network could reach
	alive    = 15 * time.Second
	silent   = 45 * time.Second
	again    = time.Second // between tries to reach the server
)

// tunnel is the ephemeral lethe_ssh_tunnel: while the lease is held, what connects to a local port
// is connected to a remote address by an SSH server.
func (p *Provider) tunnel() *builtin.Ephemeral {
	return &builtin.Ephemeral{
		Schema: describe("An address on this machine that leads to one behind an SSH server, for as long as it is held.",
			schema.Required("tunnel_host", cty.String, "The SSH server."),
			schema.Optional("tunnel_port", cty.Number, "Its port; default: 22."),
			schema.Required("user", cty.String, "Who logs in there."),
			schema.Required("remote_host", cty.String, "Where the tunnel leads to, as the SSH server knows it."),
			schema.Required("remote_port", cty.Number, "The port there."),
			&schema.Attr{Name: "private_key", Type: cty.String, Optional: true, Sensitive: true, Description: "The private key to log in with, in PEM or OpenSSH format."},
			schema.Optional("certificate", cty.String, "The certificate of that key, in OpenSSH format."),
			schema.Optional("agent", cty.Bool, "Whether to use the keys of the SSH agent; default: if there is one."),
			schema.Optional("host_key", cty.String, "The public key of the SSH server, or of the authority that certifies it, one on each line; default: what known_hosts says."),
			optionalComputed("local_port", cty.Number, "The port on this machine; default: one that is free."),
			schema.Optional("timeout", cty.String, `How long to try to reach the SSH server; default: "30s".`),
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
		ds = append(ds, refused("certificate", summary, "A certificate is used together with the private_key that it was made for."))
	}
	return ds
}

func (p *Provider) openTunnel(ctx context.Context, config cty.Value) (builtin.Lease, provider.Diags) {
	ctx, done := p.until(ctx)
	defer done()
	t, ds := p.makeTunnel(config)
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

// makeTunnel reads the configuration.
func (p *Provider) makeTunnel(config cty.Value) (*tunnel, provider.Diags) {
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
	t.life, t.over = context.WithCancel(context.Background())
	ds := p.credentials(t, config)
	ds = append(ds, p.hostKeys(t, config)...)
	if ds.HasErrors() {
		t.end()
	}
	return t, ds
}

// credentials are what we log in with.
func (p *Provider) credentials(t *tunnel, config cty.Value) provider.Diags {
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
		if t.host.Agent, err = sshconn.DialAgent(p.getenv("SSH_AUTH_SOCK"), ""); err != nil && !use.IsNull() {
			return fails(refused("agent", summary, "There is no SSH agent that can be reached at SSH_AUTH_SOCK."))
		}
	}
	if t.host.Key == nil && t.host.Agent == nil {
		return fails(refused("private_key", summary, "There is nothing to log in with: set private_key, or start an SSH agent that holds a key."))
	}
	return nil
}

// hostKeys are those that the server may have. It is never believed without: what leads through a
// server that is not the one that was meant is not secret any more.
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
	if home := p.getenv("HOME"); home != "" {
		files = append(files, filepath.Join(home, ".ssh", "known_hosts"))
	}
	switch t.host.HostKeys, err = sshconn.Known(t.host.Address(), files...); {
	case err != nil:
		return fails(refused("tunnel_host", summary, "What is known of the SSH server cannot be read: %s.", err))
	case t.host.HostKeys == nil:
		return fails(refused("tunnel_host", summary, "No key of the SSH server is in known_hosts, and host_key is not set. Set host_key to its public key (ssh-keyscan shows what it claims to be; compare it with what its owner says), or connect once with ssh."))
	}
	return nil
}

// tunnels are those that are open, by the private data of their leases.
type tunnels struct {
	mu   sync.Mutex
	open map[string]*tunnel
}

func (ts *tunnels) add(t *tunnel) string {
	id := rand.Text()
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.open == nil {
		ts.open = map[string]*tunnel{}
	}
	ts.open[id] = t
	return id
}

func (ts *tunnels) close(id string) provider.Diags {
	ts.mu.Lock()
	t := ts.open[id]
	delete(ts.open, id)
	ts.mu.Unlock()
	if t == nil {
		return nil
	}
	t.end()
	return t.complaint()
}

func (ts *tunnels) closeAll() {
	ts.mu.Lock()
	all := ts.open
	ts.open = nil
	ts.mu.Unlock()
	for _, t := range all {
		t.end()
	}
}

// tunnel is one that is open.
type tunnel struct {
	host          sshconn.Host
	remote, local string // addresses
	limit         time.Duration
	listener      net.Listener
	life          context.Context // ends with the lease
	over          context.CancelFunc
	busy          sync.WaitGroup

	login  sync.Mutex // held while logging in
	client *ssh.Client
	gone   <-chan struct{} // closed when the client's connection has ended

	mu     sync.Mutex
	conns  map[io.Closer]bool // nil when the lease has ended
	failed int                // connections that could not be made
	why    string             // the last one could not
}

// start listens and logs in.
func (t *tunnel) start(ctx context.Context) provider.Diags {
	var err error
	if t.listener, err = net.Listen("tcp", t.local); err != nil {
		return fails(refused("local_port", "Tunnel not opened", "The local port cannot be listened on: %s.", reason(err)))
	}
	ctx, cancel := context.WithTimeout(ctx, t.limit)
	defer cancel()
	if _, err := t.server(ctx); err != nil {
		return fails(refused("tunnel_host", "Tunnel not opened", "The SSH server cannot be used: %s.", reason(err)))
	}
	t.busy.Go(t.accept)
	return nil
}

// reason is what may be said of an error.
func reason(err error) string {
	switch s := sshconn.Reason(err); {
	case errors.Is(err, context.Canceled):
		return "it was interrupted"
	case s != "":
		return s
	}
	return "the connection broke off"
}

// server gives the connection to the SSH server: the one there is, or a new one where it was lost.
func (t *tunnel) server(ctx context.Context) (*ssh.Client, error) {
	t.login.Lock()
	defer t.login.Unlock()
	if t.client != nil {
		select {
		case <-t.gone:
		default:
			return t.client, nil
		}
	}
	c, err := t.reach(ctx)
	if err != nil {
		return nil, err
	}
	t.client, t.gone = c, sshconn.Watch(c, alive, silent)
	return c, nil
}

// reach logs in, and tries again as long as no server answers: a server that was just made takes a
// while until it listens. One that refuses is not asked again, because servers count tries.
func (t *tunnel) reach(ctx context.Context) (*ssh.Client, error) {
	var last error
	for {
		c, err := t.host.Login(ctx, sshconn.Direct)
		if err == nil || sshconn.Refused(err) || nameless(err) {
			return c, err
		}
		if last == nil || ctx.Err() == nil {
			last = err // that the time was over says less than what was wrong before
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return nil, ctx.Err()
			}
			return nil, last
		}
	}
}

// nameless reports that no resolver knows the host's name.
func nameless(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) && dns.IsNotFound
}

// accept takes connections until the listener is closed.
func (t *tunnel) accept() {
	for {
		near, err := t.listener.Accept()
		if err != nil {
			if t.life.Err() != nil {
				return
			}
			time.Sleep(10 * time.Millisecond) // out of descriptors, perhaps
			continue
		}
		if !t.keep(near) {
			return
		}
		t.busy.Go(func() { t.carry(near) })
	}
}

// carry connects one connection with the remote address.
func (t *tunnel) carry(near net.Conn) {
	defer t.drop(near)
	far, err := t.dial()
	if err != nil {
		t.fail(err)
		return
	}
	if !t.keep(far) {
		return
	}
	defer t.drop(far)
	var both sync.WaitGroup
	both.Go(func() { pass(far, near) })
	both.Go(func() { pass(near, far) })
	both.Wait()
}

func (t *tunnel) dial() (net.Conn, error) {
	ctx, cancel := context.WithTimeout(t.life, t.limit)
	defer cancel()
	c, err := t.server(ctx)
	if err != nil {
		return nil, err
	}
	return c.DialContext(ctx, "tcp", t.remote)
}

// pass copies until one side ends, and tells the other that no more will come.
func pass(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	} else {
		to.Close()
	}
}

// keep notes a connection, to be closed with the lease; false if that has ended, and closes it.
func (t *tunnel) keep(c io.Closer) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conns == nil {
		c.Close()
		return false
	}
	t.conns[c] = true
	return true
}

func (t *tunnel) drop(c io.Closer) {
	t.mu.Lock()
	delete(t.conns, c)
	t.mu.Unlock()
	c.Close()
}

func (t *tunnel) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.life.Err() == nil {
		t.failed++
		t.why = reason(err)
	}
}

// end takes the tunnel down. It may be called more than once.
func (t *tunnel) end() {
	t.over()
	if t.listener != nil {
		t.listener.Close()
	}
	t.mu.Lock()
	conns := t.conns
	t.conns = nil
	t.mu.Unlock()
	for c := range conns {
		c.Close()
	}
	t.login.Lock()
	if t.client != nil {
		t.client.Close()
	}
	t.login.Unlock()
	t.busy.Wait()
	if t.host.Agent != nil {
		t.host.Agent.Close()
		t.host.Agent = nil
	}
}

// complaint says that the tunnel did not do what it was for: its users only saw connections
// that broke off.
func (t *tunnel) complaint() provider.Diags {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed == 0 {
		return nil
	}
	what := "A connection"
	if t.failed > 1 {
		what = fmt.Sprintf("%d connections", t.failed)
	}
	return fails(diag.Warningf("Connections through the tunnel failed", "%s to the remote address could not be made; the last one: %s.", what, t.why).In(cty.GetAttrPath("remote_host")))
}
