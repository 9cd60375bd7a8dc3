package crypt

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/store"
)

// openBao is a key provider that uses a key of the transit engine of OpenBao or Vault. It uses two API calls: one
// returns a new key in plain text and encrypted, the other decrypts such a key.
type openBao struct {
	engine                  *url.URL
	token, namespace, agent string
	key, associated         string
	length                  int
	client                  *http.Client
}

func newOpenBao(s store.Settings) (Provider, error) {
	b := &openBao{agent: s.Agent, client: &http.Client{Timeout: time.Minute, CheckRedirect: toActive}}
	b.key, _ = s.Text("key_name")
	b.token, _ = s.Text("token", "BAO_TOKEN", "VAULT_TOKEN")
	b.associated, _ = s.Text("associated_data")
	b.namespace, _ = s.Text("", "BAO_NAMESPACE", "VAULT_NAMESPACE")
	address, _ := s.Text("address", "BAO_ADDR", "VAULT_ADDR")
	path, _ := s.Text("transit_engine_path")
	var err error
	if b.length, err = s.Int("key_length", 32); err != nil {
		return nil, err
	}
	u, err := url.Parse(cmp.Or(address, "https://127.0.0.1:8200"))
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, s.Bad("address", `"address" must begin with http:// or https:// and name a host`)
	case b.key == "":
		return nil, s.Bad("key_name", `"key_name" is not set`)
	case b.token == "":
		return nil, errors.New(`neither "token" nor BAO_TOKEN nor VAULT_TOKEN is set`)
	case b.length != 16 && b.length != 32 && b.length != 64:
		return nil, s.Bad("key_length", `"key_length" must be 16, 32 or 64, not %d`, b.length)
	}
	s.Secret(b.token)
	if b.client.Transport, err = openBaoTransport(s); err != nil {
		return nil, err
	}
	b.engine = u.JoinPath("v1", cmp.Or(strings.Trim(path, "/"), "transit"))
	return b, nil
}

// toActive is a redirect policy for http.Client. A node in standby redirects requests to the active node, which gets the
// token, too. toActive follows one such redirect, unless it changes the method, or https to http.
func toActive(req *http.Request, via []*http.Request) error {
	if len(via) > 1 || req.Method != via[0].Method || via[0].URL.Scheme == "https" && req.URL.Scheme != "https" {
		return http.ErrUseLastResponse
	}
	return nil
}

// openBaoTransport returns an HTTP transport that the TLS variables of OpenBao's CLI configure, such as BAO_CACERT.
func openBaoTransport(s store.Settings) (*http.Transport, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	c := &tls.Config{}
	t.TLSClientConfig = c
	var err error
	if c.InsecureSkipVerify, err = s.Bool("", "BAO_SKIP_VERIFY", "VAULT_SKIP_VERIFY"); err != nil {
		return nil, err
	}
	c.ServerName, _ = s.Text("", "BAO_TLS_SERVER_NAME", "VAULT_TLS_SERVER_NAME")
	if path, ok := s.Text("", "BAO_CACERT", "VAULT_CACERT"); ok {
		pem, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("the file that BAO_CACERT or VAULT_CACERT names cannot be read: %w", err)
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, errors.New("the file that BAO_CACERT or VAULT_CACERT names contains no certificate in PEM")
		}
	}
	cert, has := s.Text("", "BAO_CLIENT_CERT", "VAULT_CLIENT_CERT")
	key, _ := s.Text("", "BAO_CLIENT_KEY", "VAULT_CLIENT_KEY")
	if has || key != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("the client certificate and key that BAO_CLIENT_CERT and BAO_CLIENT_KEY, or VAULT_CLIENT_CERT and VAULT_CLIENT_KEY, name cannot be used: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return t, nil
}

type openBaoMeta struct {
	Ciphertext []byte `json:"ciphertext"`
}

// NewKey makes a key, and the metadata from which RecoverKey recovers the key.
func (b *openBao) NewKey(ctx context.Context, _ []byte) (key, meta []byte, err error) {
	plain, sealed, err := b.call(ctx, "datakey/plaintext", map[string]any{"bits": 8 * b.length})
	if err != nil {
		return nil, nil, err
	}
	if len(plain) != b.length || sealed == "" {
		return nil, nil, errors.New("the answer of the server has no key of that length")
	}
	meta, err = json.Marshal(openBaoMeta{[]byte(sealed)})
	return plain, meta, err
}

// RecoverKey recovers the key that was made with meta. It returns false if NewKey would now make keys in another way,
// so that the data should be encrypted again.
func (b *openBao) RecoverKey(ctx context.Context, meta, _ []byte) ([]byte, bool, error) {
	var m openBaoMeta
	if json.Unmarshal(meta, &m) != nil || len(m.Ciphertext) == 0 {
		return nil, false, errors.New("its metadata in the file is damaged")
	}
	plain, _, err := b.call(ctx, "decrypt", map[string]any{"ciphertext": string(m.Ciphertext)})
	if store.Refused(err, http.StatusBadRequest) {
		err = otherKey(b.key, err)
	}
	return plain, len(plain) == b.length, err
}

func (b *openBao) call(ctx context.Context, what string, in map[string]any) (plain []byte, sealed string, err error) {
	if b.associated != "" {
		in["associated_data"] = b.associated
	}
	header := http.Header{"X-Vault-Token": {b.token}, "X-Vault-Request": {"true"}}
	for name, value := range map[string]string{"X-Vault-Namespace": b.namespace, "User-Agent": b.agent} {
		if value != "" {
			header.Set(name, value)
		}
	}
	var out struct {
		Data struct {
			Plaintext  []byte `json:"plaintext"`
			Ciphertext string `json:"ciphertext"`
		} `json:"data"`
	}
	api := store.API{Client: b.client, Header: header, ErrorMessage: func(text []byte) string {
		var refusal struct {
			Errors []string `json:"errors"`
		}
		_ = json.Unmarshal(text, &refusal)
		return strings.TrimSpace(strings.Join(refusal.Errors, "; "))
	}}
	err = asked(ctx, "the server", func(ctx context.Context) error {
		return api.JSON(ctx, http.MethodPost, b.engine.JoinPath(what, url.PathEscape(b.key)), nil, in, &out)
	})
	if err != nil {
		return nil, "", err
	}
	if len(out.Data.Plaintext) == 0 {
		return nil, "", errors.New("the answer of the server is not valid")
	}
	return out.Data.Plaintext, out.Data.Ciphertext, nil
}
