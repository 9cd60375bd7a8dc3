package crypt

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/state/store"
)

// openBao has keys of the transit engine of OpenBao, or of Vault: two calls of its API, one that makes a key and
// gives it in the clear and encrypted, and one that decrypts it.
type openBao struct {
	engine, token, namespace, agent string
	key, associated                 string
	length                          int
	client                          *http.Client
}

func newOpenBao(s store.Settings) (Provider, error) {
	b := &openBao{agent: s.Agent, client: &http.Client{Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	b.key, _ = s.Text("key_name")
	b.token, _ = s.Text("token", "BAO_TOKEN")
	b.associated, _ = s.Text("associated_data")
	if s.Getenv != nil {
		b.namespace = s.Getenv("BAO_NAMESPACE")
	}
	address, _ := s.Text("address", "BAO_ADDR")
	path, _ := s.Text("transit_engine_path")
	var err error
	if b.length, err = s.Int("key_length", 32); err != nil {
		return nil, err
	}
	u, err := url.Parse(cmp.Or(address, "https://127.0.0.1:8200"))
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, errors.New(`"address" is no address: it has to begin with http:// or https://, and to name a host`)
	case b.key == "":
		return nil, errors.New(`"key_name" is not set`)
	case b.token == "":
		return nil, errors.New(`"token" is not set, and BAO_TOKEN is not either`)
	case b.length != 16 && b.length != 32 && b.length != 64:
		return nil, fmt.Errorf(`"key_length" is to be 16, 32 or 64, not %d`, b.length)
	}
	s.Secret(b.token)
	b.engine = u.JoinPath("v1", cmp.Or(strings.Trim(path, "/"), "transit")).String()
	return b, nil
}

type openBaoMeta struct {
	Ciphertext []byte `json:"ciphertext"`
}

// Fresh implements Provider.
func (b *openBao) Fresh(ctx context.Context, _ []byte) (key, meta []byte, err error) {
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

// Again implements Provider.
func (b *openBao) Again(ctx context.Context, meta, _ []byte) ([]byte, bool, error) {
	var m openBaoMeta
	if json.Unmarshal(meta, &m) != nil || len(m.Ciphertext) == 0 {
		return nil, false, errors.New("its metadata in the file is damaged")
	}
	plain, _, err := b.call(ctx, "decrypt", map[string]any{"ciphertext": string(m.Ciphertext)})
	return plain, len(plain) == b.length, err
}

func (b *openBao) call(ctx context.Context, what string, in map[string]any) (plain []byte, sealed string, err error) {
	if b.associated != "" {
		in["associated_data"] = b.associated
	}
	body, err := json.Marshal(in)
	if err != nil {
		return nil, "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.engine+"/"+what+"/"+url.PathEscape(b.key), bytes.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("X-Vault-Token", b.token)
	req.Header.Set("X-Vault-Request", "true")
	req.Header.Set("Content-Type", "application/json")
	if b.namespace != "" {
		req.Header.Set("X-Vault-Namespace", b.namespace)
	}
	if b.agent != "" {
		req.Header.Set("User-Agent", b.agent)
	}
	resp, err := b.client.Do(req)
	if err != nil {
		return nil, "", fmt.Errorf("the server does not answer: %w", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	var out struct {
		Errors []string `json:"errors"`
		Data   struct {
			Plaintext  string `json:"plaintext"`
			Ciphertext string `json:"ciphertext"`
		} `json:"data"`
	}
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if resp.StatusCode != http.StatusOK {
		said := strings.TrimSpace(strings.Join(out.Errors, "; "))
		if said != "" {
			said = ": " + said
		}
		return nil, "", fmt.Errorf("the server answers %s to %s%s", resp.Status, what, said)
	}
	if err == nil {
		plain, err = base64.StdEncoding.DecodeString(out.Data.Plaintext)
	}
	if err != nil || len(plain) == 0 {
		return nil, "", errors.New("the answer of the server cannot be understood")
	}
	return plain, out.Data.Ciphertext, nil
}
