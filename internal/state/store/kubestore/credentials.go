package kubestore

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/state/store"
)

// credentialsError says why there are no credentials for a request, which is not made then.
type credentialsError struct{ error }

// credentials adds them to requests.
type credentials struct {
	*access
	settings store.Settings // learns what is secret
	next     http.RoundTripper

	mu  sync.Mutex
	now *answered // of the plugin
}

// RoundTrip implements http.RoundTripper.
func (c *credentials) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	token := c.token
	if c.tokenFile != "" {
		text, err := os.ReadFile(c.tokenFile) // each time: the cluster replaces it from time to time
		if err != nil {
			return nil, &credentialsError{fmt.Errorf("the file with the token cannot be read: %w", err)}
		}
		token = strings.TrimSpace(string(text))
		c.settings.Secret(token)
	}
	if c.exec != nil && token == "" && c.username == "" {
		said, err := c.ask(req.Context())
		if err != nil {
			return nil, err
		}
		token = said.Token
	}
	switch {
	case token != "":
		req.Header.Set("Authorization", "Bearer "+token)
	case c.username != "" || c.password != "":
		req.SetBasicAuth(c.username, c.password)
	}
	if c.as != "" {
		req.Header.Set("Impersonate-User", c.as)
		req.Header["Impersonate-Group"] = c.asGroups
	}
	resp, err := c.next.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusUnauthorized {
		c.mu.Lock()
		c.now = nil // the plugin is asked again
		c.mu.Unlock()
	}
	return resp, err
}

// certificate is that of the plugin, for connections.
func (c *credentials) certificate(info *tls.CertificateRequestInfo) (*tls.Certificate, error) {
	if len(c.cert) > 0 {
		pair, err := tls.X509KeyPair(c.cert, c.key)
		return &pair, err
	}
	said, err := c.ask(info.Context())
	if err != nil || said.pair == nil {
		return &tls.Certificate{}, err
	}
	return said.pair, nil
}

// ask asks the plugin, if what it said before holds no more.
func (c *credentials) ask(ctx context.Context) (*answered, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now != nil && (c.now.ExpirationTimestamp.IsZero() || time.Now().Before(c.now.ExpirationTimestamp)) {
		return c.now, nil
	}
	said, err := c.exec.run(ctx, c.access)
	if err != nil {
		return nil, &credentialsError{err}
	}
	c.settings.Secret(said.Token)
	c.settings.Secret(said.ClientKeyData)
	c.now = said
	return said, nil
}

// answered is what a plugin says.
type answered struct {
	Token, ClientCertificateData, ClientKeyData string
	ExpirationTimestamp                         time.Time

	pair *tls.Certificate
}

// clusterInfo is what a plugin may learn of the cluster.
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
	cmd := exec.CommandContext(ctx, command, p.Args...)
	cmd.Env = append(os.Environ(), "KUBERNETES_EXEC_INFO="+string(info))
	for _, e := range p.Env {
		cmd.Env = append(cmd.Env, e.Name+"="+e.Value)
	}
	var out, trouble bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &trouble
	if err := cmd.Run(); err != nil {
		hint := ""
		if errors.Is(err, exec.ErrNotFound) && p.InstallHint != "" {
			hint = "\n" + p.InstallHint
		}
		return nil, fmt.Errorf("the program %s for credentials failed: %w\n%s%s", p.Command, err, strings.TrimSpace(trouble.String()), hint)
	}
	var said struct {
		APIVersion, Kind string
		Status           *answered
	}
	if err := json.Unmarshal(out.Bytes(), &said); err != nil || said.Kind != "ExecCredential" || said.APIVersion != p.APIVersion || said.Status == nil {
		return nil, fmt.Errorf("what the program %s printed is not an ExecCredential of %s with a status", p.Command, p.APIVersion)
	}
	if said.Status.Token == "" && said.Status.ClientCertificateData == "" {
		return nil, fmt.Errorf("the program %s for credentials gives neither a token nor a certificate", p.Command)
	}
	if said.Status.ClientCertificateData != "" {
		pair, err := tls.X509KeyPair([]byte(said.Status.ClientCertificateData), []byte(said.Status.ClientKeyData))
		if err != nil {
			return nil, fmt.Errorf("the certificate that the program %s gives cannot be used: %w", p.Command, err)
		}
		said.Status.pair = &pair
	}
	return said.Status, nil
}
