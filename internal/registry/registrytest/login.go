package registrytest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"sync"
)

// Login lets users log in by the given grants ("authz_code", "password"). In a browser every user is accepted; the
// password grant requires the user "you" and the password. Without grants, the host has no login service. The login
// returns token.
func (s *Server) Login(token, password string, grants ...string) {
	var mu sync.Mutex
	given := map[string]url.Values{} // by code: parameters of authorization requests
	services := map[string]any{"providers.v1": "/v1/providers/", "modules.v1": "/v1/modules"}
	if len(grants) > 0 {
		services["login.v1"] = map[string]any{"client": "tests", "grant_types": grants, "authz": "/oauth/authorization", "token": "/oauth/token", "ports": []int{20000, 40000}}
	}
	s.put("/.well-known/terraform.json", services)
	s.Fault("/oauth/authorization", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		back, err := url.Parse(q.Get("redirect_uri"))
		if err != nil || q.Get("client_id") != "tests" || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("state") == "" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		mu.Lock()
		given["the-code"] = q
		mu.Unlock()
		back.RawQuery = url.Values{"code": {"the-code"}, "state": {q.Get("state")}}.Encode()
		http.Redirect(w, r, back.String(), http.StatusFound)
	})
	s.Fault("/oauth/token", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		mu.Lock()
		asked := given[r.PostForm.Get("code")]
		delete(given, r.PostForm.Get("code"))
		mu.Unlock()
		sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
		ok := false
		switch r.PostForm.Get("grant_type") {
		case "authorization_code":
			ok = asked != nil && asked.Get("code_challenge") == base64.RawURLEncoding.EncodeToString(sum[:]) && asked.Get("redirect_uri") == r.PostForm.Get("redirect_uri")
		case "password":
			ok = r.PostForm.Get("username") == "you" && r.PostForm.Get("password") == password
		}
		w.Header().Set("Content-Type", "application/json")
		if !ok {
			w.WriteHeader(http.StatusBadRequest)
			_ = json.NewEncoder(w).Encode(map[string]string{"error": "invalid_grant", "error_description": "not " + r.PostForm.Get("password")})
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"access_token": token, "token_type": "bearer"})
	})
}
