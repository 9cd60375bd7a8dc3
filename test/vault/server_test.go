package vault

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// canary is part of every secret of the server.
const canary = "canary-51c7"

// bao is a server with the API of OpenBao: one in this process that counts its leases, or an existing server.
type bao struct {
	url, token string
	real       bool // the server exists outside of the test (LETHE_OPENBAO_ADDR)

	mu     sync.Mutex
	number int               // number of requests, which makes tokens, leases and secrets unique
	tokens map[string]string // by token: its parent, or "" for the root token
	leases map[string]string // by open lease: the token that opened it
	opened int               // the number of leases that were opened
	asked  []string          // the method and URL of each request so far
}

// newBao returns the server of a test. If LETHE_OPENBAO_ADDR is set, this is the existing server at that address, with
// the token LETHE_OPENBAO_TOKEN. Otherwise it is a new server that runs until the end of the test.
func newBao(t *testing.T) *bao {
	b := &bao{tokens: map[string]string{}, leases: map[string]string{}}
	if at := os.Getenv("LETHE_OPENBAO_ADDR"); at != "" {
		b.url, b.token, b.real = at, os.Getenv("LETHE_OPENBAO_TOKEN"), true
		return b
	}
	b.token = "root-" + canary
	b.tokens[b.token] = ""
	s := httptest.NewServer(b)
	t.Cleanup(s.Close)
	b.url = s.URL
	return b
}

// open returns the open leases of the role app that the server lists for an engine, or nil if it lists no lease.
func (b *bao) open(t *testing.T, engine string) []string {
	t.Helper()
	req, err := http.NewRequest("GET", b.url+"/v1/sys/leases/lookup/"+engine+"/creds/app?list=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Vault-Token", b.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound {
		return nil
	}
	var list struct{ Data struct{ Keys []string } }
	if text, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK || json.Unmarshal(text, &list) != nil {
		t.Fatalf("listing leases: %s, %v: %s", resp.Status, err, text)
	}
	return list.Data.Keys
}

// ServeHTTP answers the requests of the provider and of bao.open as OpenBao does, and other paths with 404. A request
// for credentials opens a lease.
func (b *bao) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, r.Method+" "+r.URL.String())
	path := strings.TrimPrefix(r.URL.Path, "/v1/")
	if path == "sys/seal-status" || path == "sys/health" {
		answer(w, map[string]any{"initialized": true, "sealed": false, "version": "2.2.0", "type": "shamir"})
		return
	}
	token := r.Header.Get("X-Vault-Token")
	if _, known := b.tokens[token]; !known {
		refuse(w, http.StatusForbidden, "permission denied")
		return
	}
	var body struct {
		LeaseID string `json:"lease_id"`
	}
	_ = json.NewDecoder(r.Body).Decode(&body) // ignore the error, because most requests have no body
	b.number++
	engine, role, creds := strings.Cut(path, "/creds/")
	prefix, lookup := strings.CutPrefix(path, "sys/leases/lookup/")
	switch {
	case path == "auth/token/lookup-self":
		answer(w, data(map[string]any{"id": token, "policies": []string{"root"}, "path": "auth/token/root", "renewable": false, "ttl": 0}))
	case path == "auth/token/create":
		child := fmt.Sprintf("child-%s-%d", canary, b.number)
		b.tokens[child] = token
		answer(w, map[string]any{"auth": map[string]any{"client_token": child, "policies": []string{"root"}, "renewable": false, "lease_duration": 1200}})
	case path == "auth/token/revoke-self":
		b.revoke(token)
		w.WriteHeader(http.StatusNoContent)
	case creds && !lookup && r.Method == "GET" && role == "app":
		id := fmt.Sprintf("%s/creds/app/%08d", engine, b.number)
		b.leases[id] = token
		b.opened++
		secret := fmt.Sprintf("%s-%d", canary, b.number)
		a := data(map[string]any{"token": secret, "client_id": "client", "client_secret": secret, "username": "u", "password": secret})
		a["lease_id"], a["lease_duration"], a["renewable"] = id, 3600, true
		answer(w, a)
	case lookup:
		var keys []string
		for id := range b.leases {
			if rest, under := strings.CutPrefix(id, prefix+"/"); under {
				keys = append(keys, rest)
			}
		}
		if slices.Sort(keys); len(keys) == 0 {
			refuse(w, http.StatusNotFound)
			return
		}
		answer(w, data(map[string]any{"keys": keys}))
	case path == "sys/leases/revoke" && r.Method != "GET":
		if _, is := b.leases[body.LeaseID]; !is {
			refuse(w, http.StatusBadRequest, "invalid lease")
			return
		}
		delete(b.leases, body.LeaseID)
		w.WriteHeader(http.StatusNoContent)
	default:
		refuse(w, http.StatusNotFound, "no handler for route "+path)
	}
}

// revoke ends a token, its children, and the leases that they opened.
func (b *bao) revoke(token string) {
	delete(b.tokens, token)
	for id, of := range b.leases {
		if of == token {
			delete(b.leases, id)
		}
	}
	for child, parent := range b.tokens {
		if parent == token {
			b.revoke(child)
		}
	}
}

// data returns a response with the data d.
func data(d map[string]any) map[string]any { return map[string]any{"request_id": "r", "data": d} }

// answer writes a successful response.
func answer(w http.ResponseWriter, a map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(a)
}

// refuse writes a response with an HTTP status and error messages.
func refuse(w http.ResponseWriter, status int, why ...string) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"errors": append([]string{}, why...)})
}
