package kubestore

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/subprocess"
)

// credentialsError reports that a request was not sent, because no credentials could be obtained for it.
type credentialsError struct{ error }

// credentials is an HTTP transport that adds credentials to requests to the cluster.
type credentials struct {
	*access
	settings store.Settings // its Secret method registers secrets
	next     *http.Transport

	mu  sync.Mutex
	now *answered // the latest answer of the plugin, or nil
}

// RoundTrip implements http.RoundTripper. If the server refuses credentials that the plugin returned for an earlier
// request, RoundTrip runs the plugin again, and sends the request once more: the credentials may have ended during a
// long apply.
func (c *credentials) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host != c.server.Host { // a request that was redirected to another host gets no credentials
		return c.next.RoundTrip(req)
	}
	c.mu.Lock()
	earlier := c.now != nil
	c.mu.Unlock()
	resp, err := c.send(req)
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	c.mu.Lock()
	c.now = nil // the next request runs the plugin again
	c.mu.Unlock()
	if !earlier || req.GetBody == nil {
		return resp, nil
	}
	resp.Body.Close()
	c.next.CloseIdleConnections() // they use the earlier client certificate
	again := req.Clone(req.Context())
	if again.Body, err = req.GetBody(); err != nil {
		return nil, err
	}
	return c.send(again)
}

// send sends a request with credentials.
func (c *credentials) send(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	token := c.token
	if c.tokenFile != "" {
		text, err := os.ReadFile(c.tokenFile) // the file is read for each request, because the cluster replaces the token in it
		if err != nil {
			return nil, &credentialsError{fmt.Errorf("the file with the token cannot be read: %w", err)}
		}
		token = strings.TrimSpace(string(text))
		c.settings.Secret(token)
	}
	if c.exec != nil && token == "" && c.username == "" {
		reply, err := c.ask(req.Context())
		if err != nil {
			return nil, err
		}
		token = reply.Token
	}
	switch {
	case token != "":
		req.Header.Set("Authorization", "Bearer "+token)
	case c.username != "" || c.password != "":
		req.SetBasicAuth(c.username, c.password)
	}
	c.impersonate(req.Header)
	return c.next.RoundTrip(req)
}

// impersonate names the user for whom a request is, if the kubeconfig has one. Keys of further attributes are escaped,
// because a header may not have all their characters.
func (a *access) impersonate(h http.Header) {
	if a.as == "" {
		return
	}
	h.Set("Impersonate-User", a.as)
	h["Impersonate-Group"] = a.asGroups
	if a.asUID != "" {
		h.Set("Impersonate-Uid", a.asUID)
	}
	for key, values := range a.asExtra {
		for _, v := range values {
			h.Add("Impersonate-Extra-"+strings.ReplaceAll(url.QueryEscape(key), "+", "%20"), v)
		}
	}
}

// certificate returns the client certificate of the kubeconfig, or else the certificate that the plugin prints. If the
// plugin prints none, the result is an empty certificate.
func (c *credentials) certificate(info *tls.CertificateRequestInfo) (*tls.Certificate, error) {
	if len(c.cert) > 0 {
		pair, err := tls.X509KeyPair(c.cert, c.key)
		return &pair, err
	}
	reply, err := c.ask(info.Context())
	if err != nil || reply.pair == nil {
		return &tls.Certificate{}, err
	}
	return reply.pair, nil
}

// ask returns the credentials that the plugin prints. It runs the plugin if there is no answer yet or the latest answer
// has expired. An answer without a time of expiry never expires.
func (c *credentials) ask(ctx context.Context) (*answered, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now != nil && (c.now.ExpirationTimestamp.IsZero() || time.Now().Before(c.now.ExpirationTimestamp)) {
		return c.now, nil
	}
	reply, err := c.exec.run(ctx, c.access)
	if err != nil {
		return nil, &credentialsError{err}
	}
	c.settings.Secret(reply.Token)
	c.settings.Secret(reply.ClientKeyData)
	c.now = reply
	return reply, nil
}

// answered has the credentials that a plugin has printed.
type answered struct {
	Token, ClientCertificateData, ClientKeyData string
	ExpirationTimestamp                         time.Time

	pair *tls.Certificate
}

// clusterInfo describes the cluster to a plugin, which gets it in an environment variable.
type clusterInfo struct {
	Server    string `json:"server"`
	Name      string `json:"tls-server-name,omitempty"`
	Insecure  bool   `json:"insecure-skip-tls-verify,omitempty"`
	Authority []byte `json:"certificate-authority-data,omitempty"`
	Proxy     string `json:"proxy-url,omitempty"`
}

func (p *plugin) run(ctx context.Context, a *access) (*answered, error) {
	spec := struct {
		Cluster     *clusterInfo `json:"cluster,omitempty"`
		Interactive bool         `json:"interactive"`
	}{}
	if p.ProvideClusterInfo {
		spec.Cluster = &clusterInfo{Server: a.server.String(), Name: a.serverName, Insecure: a.insecure, Authority: a.ca}
		if a.proxy != nil {
			spec.Cluster.Proxy = a.proxy.String()
		}
	}
	info, err := json.Marshal(map[string]any{"apiVersion": p.APIVersion, "kind": "ExecCredential", "spec": spec})
	if err != nil {
		return nil, err
	}
	command := p.Command
	if filepath.Base(command) != command {
		command = within(p.dir, command)
	}
	var out, trouble bytes.Buffer
	_, err = subprocess.RunPatiently(ctx, func() *exec.Cmd {
		cmd := subprocess.Command(ctx, command, p.Args...)
		cmd.SysProcAttr = subprocess.OnTerminal(syscall.SIGTERM) // the plugin may ask the user on /dev/tty, although its standard input is empty
		cmd.Env = append(os.Environ(), "KUBERNETES_EXEC_INFO="+string(info))
		for _, e := range p.Env {
			cmd.Env = append(cmd.Env, e.Name+"="+e.Value)
		}
		out, trouble = bytes.Buffer{}, bytes.Buffer{}
		cmd.Stdout, cmd.Stderr = &out, &trouble
		return cmd
	})
	if err != nil {
		hint := ""
		if errors.Is(err, exec.ErrNotFound) && p.InstallHint != "" {
			hint = "\n" + p.InstallHint
		}
		return nil, fmt.Errorf("the program %s for credentials failed: %w\n%s%s", p.Command, err, strings.TrimSpace(trouble.String()), hint)
	}
	var reply struct {
		APIVersion, Kind string
		Status           *answered
	}
	if err := json.Unmarshal(out.Bytes(), &reply); err != nil || reply.Kind != "ExecCredential" || reply.APIVersion != p.APIVersion || reply.Status == nil {
		return nil, fmt.Errorf("the output of the program %s is not an ExecCredential of %s with a status", p.Command, p.APIVersion)
	}
	if reply.Status.Token == "" && reply.Status.ClientCertificateData == "" {
		return nil, fmt.Errorf("the program %s for credentials returned neither a token nor a certificate", p.Command)
	}
	if reply.Status.ClientCertificateData != "" {
		pair, err := tls.X509KeyPair([]byte(reply.Status.ClientCertificateData), []byte(reply.Status.ClientKeyData))
		if err != nil {
			return nil, fmt.Errorf("the certificate from the program %s cannot be used: %w", p.Command, err)
		}
		reply.Status.pair = &pair
	}
	return reply.Status, nil
}
