package provision

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	socks "golang.org/x/net/proxy"

	"github.com/zclconf/go-cty/cty"

	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/sshconn"
)

// proxy is a proxy server through which the connections to the target or the bastion go.
type proxy struct {
	scheme         string // http, https or socks5
	host           string
	port           int
	user, password string
	roots          *x509.CertPool // the trusted certificates of an https proxy; nil: the system's certificates
}

// proxyError is the error of a proxy that refuses a connection.
type proxyError struct {
	status int
	text   string
}

func (e *proxyError) Error() string { return "the proxy refused the connection: " + e.text }

func readProxy(obj cty.Value) *proxy {
	p := &proxy{
		scheme:   cmp.Or(schema.Text(obj, "proxy_scheme"), "http"),
		host:     schema.Text(obj, "proxy_host"),
		user:     schema.Text(obj, "proxy_user_name"),
		password: schema.Text(obj, "proxy_user_password"),
	}
	usual := map[string]int{"http": 80, "https": 443, "socks5": 1080}
	port, _ := schema.Number(obj, "proxy_port")
	p.port = cmp.Or(port, usual[p.scheme])
	return p
}

// dial connects to an address through the proxy.
func (p *proxy) dial(ctx context.Context, address string) (net.Conn, error) {
	if p.scheme == "socks5" {
		return p.socks(ctx, address)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", sshconn.Join(p.host, p.port))
	if err != nil {
		return nil, err
	}
	if p.scheme == "https" {
		conn = tls.Client(conn, &tls.Config{ServerName: p.host, RootCAs: p.roots, MinVersion: tls.VersionTLS12})
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	tunnel, err := p.tunnel(conn, address)
	if !stop() {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return tunnel, nil
}

// tunnel requests a tunnel to an address from an HTTP proxy (RFC 9110, 9.3.6), and returns the connection through it.
func (p *proxy) tunnel(conn net.Conn, address string) (net.Conn, error) {
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{}}
	if p.user != "" || p.password != "" {
		req.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(p.user+":"+p.password)))
	}
	if err := req.Write(conn); err != nil {
		return nil, err
	}
	// SSH servers send first, so the buffer may contain their first bytes after the answer of the proxy. The body of a
	// refusal may have any length, and tunnel does not read it.
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 != 2 {
		return nil, &proxyError{resp.StatusCode, resp.Status}
	}
	return &buffered{conn, in}, nil
}

// buffered is a connection with data that was read ahead.
type buffered struct {
	net.Conn
	in io.Reader
}

func (b *buffered) Read(p []byte) (int, error) { return b.in.Read(p) }

func (p *proxy) socks(ctx context.Context, address string) (net.Conn, error) {
	var auth *socks.Auth
	if p.user != "" || p.password != "" {
		auth = &socks.Auth{User: p.user, Password: p.password}
	}
	d, err := socks.SOCKS5("tcp", sshconn.Join(p.host, p.port), auth, &net.Dialer{})
	if err != nil {
		return nil, err
	}
	dialer, ok := d.(socks.ContextDialer)
	if !ok {
		return nil, fmt.Errorf("SOCKS5 is not available")
	}
	return dialer.DialContext(ctx, "tcp", address)
}
