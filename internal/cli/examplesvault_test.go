package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// vault is a server with the part of the API of OpenBao and Vault that the example uses: tokens, policies, and the
// secrets engine "secret" of a development server.
type vault struct {
	mu      sync.Mutex
	number  int                    // the number of tokens that were created
	tokens  map[string]*vaultToken // by the ID of the token
	secrets map[string]json.RawMessage
	// policies maps a policy to its rules.
	policies map[string]string
}

type vaultToken struct {
	accessor string
	policies []string
}

// vaultRoot is the token of the administrator. It begins with a canary (a text that marks secrets), so that tests find
// it.
const vaultRoot = "canary-51c7-root"

// startVault starts a server for one test and returns its address. At the end of the test, only the root token may
// exist.
func startVault(t *testing.T) string {
	v := &vault{
		tokens:  map[string]*vaultToken{vaultRoot: {fmt.Sprintf("%024d", 0), []string{"root"}}},
		secrets: map[string]json.RawMessage{}, policies: map[string]string{},
	}
	server := httptest.NewServer(v)
	t.Cleanup(func() {
		server.Close()
		if len(v.tokens) != 1 || v.number == 0 {
			t.Errorf("%d tokens were created, and %d exist, want 1", v.number, len(v.tokens))
		}
	})
	return server.URL
}

func (v *vault) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	token, request := v.tokens[r.Header.Get("X-Vault-Token")], strings.TrimPrefix(r.URL.Path, "/v1/")
	var body struct {
		Accessor, Policy string
		Policies         []string
		Data             json.RawMessage
	}
	_ = json.NewDecoder(r.Body).Decode(&body) // some requests have no body
	if token == nil || !v.allows(token, request, r.Method) {
		reply(w, http.StatusForbidden, map[string]any{"errors": []string{"permission denied"}})
		return
	}
	name, isSecret := strings.CutPrefix(request, "secret/data/")
	policy, isPolicy := strings.CutPrefix(request, "sys/policies/acl/")
	post := r.Method == http.MethodPost
	switch {
	case isPolicy && post:
		v.policies[policy] = body.Policy
		w.WriteHeader(http.StatusNoContent)
	case isSecret && post:
		v.secrets[name] = body.Data
		reply(w, http.StatusOK, map[string]any{"data": map[string]any{"version": 1}})
	case isSecret && r.Method == http.MethodGet && v.secrets[name] != nil:
		reply(w, http.StatusOK, map[string]any{"data": map[string]any{"data": v.secrets[name], "metadata": map[string]any{"version": 1}}})
	case request == "auth/token/create" && post:
		v.number++
		id, made := fmt.Sprintf("canary-51c7-token-%d", v.number), &vaultToken{fmt.Sprintf("%024d", v.number), body.Policies}
		v.tokens[id] = made
		reply(w, http.StatusOK, map[string]any{"auth": map[string]any{"client_token": id, "accessor": made.accessor, "lease_duration": 600, "renewable": true}})
	case request == "auth/token/revoke-accessor" && post:
		for id, token := range v.tokens {
			if token.accessor == body.Accessor {
				delete(v.tokens, id)
				w.WriteHeader(http.StatusNoContent)
				return
			}
		}
		reply(w, http.StatusBadRequest, map[string]any{"errors": []string{"invalid accessor"}})
	case request == "auth/token/accessors" && r.Method == "LIST":
		var accessors []string
		for _, token := range v.tokens {
			accessors = append(accessors, token.accessor)
		}
		reply(w, http.StatusOK, map[string]any{"data": map[string]any{"keys": accessors}})
	default:
		reply(w, http.StatusNotFound, map[string]any{"errors": []string{}})
	}
}

// allows reports whether the policies of a token permit a request. A policy permits to read the paths that it names.
func (v *vault) allows(token *vaultToken, path, method string) bool {
	return slices.ContainsFunc(token.policies, func(name string) bool {
		return name == "root" || method == http.MethodGet && strings.Contains(v.policies[name], fmt.Sprintf("path %q", path))
	})
}

func reply(w http.ResponseWriter, status int, answer map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}
