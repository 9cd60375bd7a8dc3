package crypt

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/storetest"
	"github.com/zclconf/go-cty/cty"
	"golang.org/x/crypto/ssh"
)

const plainState = `{"version":4,"terraform_version":"1.11.4","serial":7,"lineage":"2ce64317-825a-f8cd-b35e-84fa110b561f","outputs":{},"resources":[],"check_results":null}`

func provider(t testing.TB, kind, name string, set map[string]cty.Value) *Source {
	t.Helper()
	p, err := making(t, kind, set)
	if err != nil {
		t.Fatal(err)
	}
	name = "key_provider." + kind + "." + name
	return &Source{Name: name, Meta: name, Provider: p}
}

func making(t testing.TB, kind string, set map[string]cty.Value) (Provider, error) {
	t.Helper()
	k, ok := ProviderKinds.Find(kind)
	if !ok {
		t.Fatal(kind)
	}
	v, err := k.Schema.Coerce(cty.ObjectVal(set))
	if err != nil {
		t.Fatal(err)
	}
	return k.Make(store.Settings{Config: v, Schema: k.Schema, Dir: t.TempDir(), Getenv: func(string) string { return "" }})
}

func passphrase(t testing.TB, name, text string) *Source {
	return provider(t, "pbkdf2", name, map[string]cty.Value{"passphrase": cty.StringVal(text), "iterations": cty.NumberIntVal(leastIterations)})
}

func with(keys *Source, fallbacks ...*Cipher) *Target {
	c := &Cipher{Name: "method.aes_gcm.m", Method: aesGCM{}, Keys: keys}
	return &Target{Block: "state", Write: c, Read: append([]*Cipher{c}, fallbacks...)}
}

// TestFixed opens an envelope that was made by hand from the published format: PBKDF2 with the parameters in the
// metadata, and AES-256-GCM with the nonce before and the tag after the data.
func TestFixed(t *testing.T) {
	data, err := os.ReadFile("testdata/pbkdf2.tfstate")
	if err != nil {
		t.Fatal(err)
	}
	plain, outdated, err := with(provider(t, "pbkdf2", "local", map[string]cty.Value{"passphrase": cty.StringVal("correct horse battery staple")})).Open(t.Context(), data)
	if err != nil || string(plain) != plainState || outdated {
		t.Errorf("%s, %v, %v", plain, outdated, err)
	}
	var e *Error
	if _, _, err := with(provider(t, "pbkdf2", "local", map[string]cty.Value{"passphrase": cty.StringVal("another horse battery staple")})).Open(t.Context(), data); !errors.As(err, &e) || !strings.Contains(e.Text, "the key is wrong") {
		t.Error(err)
	}
}

func TestSealOpen(t *testing.T) {
	ctx := t.Context()
	target := with(passphrase(t, "a", "correct horse battery staple"))
	data, err := target.Seal(ctx, []byte(plainState))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(data, []byte("resources")) || !Sealed(data) || !IsState(data) || Sealed([]byte(plainState)) {
		t.Errorf("%s", data)
	}
	for range 2 { // each turn uses a new source of the key
		plain, outdated, err := with(passphrase(t, "a", "correct horse battery staple")).Open(ctx, data)
		if err != nil || string(plain) != plainState || outdated {
			t.Fatal(string(plain), outdated, err)
		}
	}

	longer := with(provider(t, "pbkdf2", "a", map[string]cty.Value{"passphrase": cty.StringVal("correct horse battery staple"), "iterations": cty.NumberIntVal(leastIterations + 1)}))
	if _, outdated, err := longer.Open(ctx, data); err != nil || !outdated {
		t.Error("of other iterations", outdated, err)
	}
	second := with(passphrase(t, "b", "another horse battery staple"), target.Write)
	if _, outdated, err := second.Open(ctx, data); err != nil || !outdated {
		t.Error("by a fallback", outdated, err)
	}
	none := &Cipher{Name: "method.unencrypted.none"}
	migrating := with(passphrase(t, "a", "correct horse battery staple"), none)
	if plain, outdated, err := migrating.Open(ctx, []byte(plainState)); err != nil || !outdated || string(plain) != plainState {
		t.Error("in the clear", outdated, err)
	}
	back := &Target{Block: "state", Write: none, Read: []*Cipher{none, target.Write}}
	if _, outdated, err := back.Open(ctx, data); err != nil || !outdated {
		t.Error("decrypting", outdated, err)
	}
	if text, err := back.Seal(ctx, []byte(plainState)); err != nil || string(text) != plainState {
		t.Error(string(text), err)
	}
}

// TestDamage checks that changed or truncated files are distinguished from a wrong key.
func TestDamage(t *testing.T) {
	ctx := t.Context()
	target := with(passphrase(t, "a", "correct horse battery staple"))
	data, err := target.Seal(ctx, []byte(plainState))
	if err != nil {
		t.Fatal(err)
	}
	altered := bytes.Replace(data, []byte(`"encrypted_data":"`), []byte(`"encrypted_data":"AAAA`), 1)
	var plain map[string]any // the encrypted file as OpenTofu writes it, without Lethe's digest
	if err := json.Unmarshal(altered, &plain); err != nil {
		t.Fatal(err)
	}
	delete(plain["meta"].(map[string]any), digestName)
	foreign, _ := json.Marshal(plain)
	for _, tt := range []struct {
		name, want string
		data       []byte
	}{
		{"cut off", "it ends after", data[:len(data)-40]},
		{"cut off early", "it ends after", data[:bytes.Index(data, []byte(`"encrypted_data"`))+20]},
		{"cut off in what is in the clear", "it ends after", data[:bytes.Index(data, []byte(`"meta"`))+30]},
		{"cut off at once", "The state is damaged", data[:20]},
		{"altered", "its content does not match its digest", altered},
		{"altered, without a digest", "the key is wrong", foreign},
		{"another serial", "its serial or its lineage", bytes.Replace(data, []byte(`"serial":7`), []byte(`"serial":8`), 1)},
		{"another lineage", "its serial or its lineage", bytes.Replace(data, []byte(`"lineage":"2`), []byte(`"lineage":"3`), 1)},
		{"another version", `version "v1"`, bytes.Replace(data, []byte(`"v0"`), []byte(`"v1"`), 1)},
		{"no base64", "damaged", bytes.Replace(data, []byte(`"encrypted_data":"`), []byte(`"encrypted_data":"!`), 1)},
		{"nothing", `has no "encrypted_data"`, []byte(`{"meta":{},"encryption_version":"v0"}`)},
		{"of another provider", "no metadata of key_provider.pbkdf2.a is in it, it has that of key_provider.pbkdf2.z", bytes.ReplaceAll(foreign, []byte("pbkdf2.a"), []byte("pbkdf2.z"))},
		{"in the clear", "The state is not encrypted", []byte(plainState)},
	} {
		_, _, err := target.Open(ctx, tt.data)
		var e *Error
		var lock *store.LockError
		if !errors.As(err, &e) || !strings.Contains(e.Text, tt.want) || errors.As(err, &lock) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	for block, want := range map[string]string{"state": "Apply once", "plan": "Make a new plan", "remote_state_data_sources": "Encrypt it in the configuration that writes it"} {
		target.Block = block
		if _, _, err := target.Open(ctx, []byte(plainState)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("in the clear, of the block %q: %v", block, err)
		}
	}
	if _, _, err := (*Target)(nil).Open(ctx, data); err == nil || !strings.Contains(err.Error(), "no encryption is configured") {
		t.Error(err)
	}
}

func TestChain(t *testing.T) {
	chained := func() *Target {
		s := provider(t, "pbkdf2", "outer", map[string]cty.Value{"iterations": cty.NumberIntVal(leastIterations), "hash_function": cty.StringVal("sha256"), "key_length": cty.NumberIntVal(16)})
		s.Chain = passphrase(t, "inner", "correct horse battery staple")
		s.Meta = "alias"
		return with(s)
	}
	data, err := chained().Seal(t.Context(), []byte(plainState))
	if err != nil || !bytes.Contains(data, []byte(`"alias":`)) || !bytes.Contains(data, []byte(`"key_provider.pbkdf2.inner":`)) {
		t.Fatal(string(data), err)
	}
	if plain, outdated, err := chained().Open(t.Context(), data); err != nil || string(plain) != plainState || outdated {
		t.Error(string(plain), outdated, err)
	}
}

func TestSettings(t *testing.T) {
	for _, tt := range []struct {
		kind, want string
		set        map[string]cty.Value
	}{
		{"pbkdf2", "too short", map[string]cty.Value{"passphrase": cty.StringVal("short")}},
		{"pbkdf2", "too low", map[string]cty.Value{"passphrase": cty.StringVal("correct horse battery"), "iterations": cty.NumberIntVal(1)}},
		{"pbkdf2", "hash function", map[string]cty.Value{"passphrase": cty.StringVal("correct horse battery"), "hash_function": cty.StringVal("md5")}},
		{"pbkdf2", "salt_length", map[string]cty.Value{"passphrase": cty.StringVal("correct horse battery"), "salt_length": cty.NumberIntVal(0)}},
		{"pbkdf2", "length of a key", map[string]cty.Value{"passphrase": cty.StringVal("correct horse battery"), "key_length": cty.NumberIntVal(0)}},
		{"external", "names no program", map[string]cty.Value{"command": cty.ListValEmpty(cty.String)}},
		{"openbao", "token", map[string]cty.Value{"key_name": cty.StringVal("k")}},
		{"openbao", "address", map[string]cty.Value{"key_name": cty.StringVal("k"), "address": cty.StringVal("x")}},
	} {
		k, _ := ProviderKinds.Find(tt.kind)
		v, err := k.Schema.Coerce(cty.ObjectVal(tt.set))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.Make(store.Settings{Config: v, Schema: k.Schema}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v", tt.set, err)
		}
	}
	k, _ := MethodKinds.Find("aes_gcm")
	for _, n := range []int64{-1, 256} {
		v, err := k.Schema.Coerce(cty.ObjectVal(map[string]cty.Value{"aad": cty.ListVal([]cty.Value{cty.NumberIntVal(n)})}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.Make(store.Settings{Config: v, Schema: k.Schema}); err == nil {
			t.Error(n)
		}
	}
}

// TestAAD checks that a file opens only with the same additional authenticated data.
func TestAAD(t *testing.T) {
	key := make([]byte, 32)
	data, err := aesGCM{aad: []byte{1, 2}}.Seal(t.Context(), key, []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := (aesGCM{aad: []byte{1, 2}}).Open(t.Context(), key, data); err != nil || string(plain) != "x" {
		t.Error(err)
	}
	if _, err := (aesGCM{}).Open(t.Context(), key, data); !errors.Is(err, ErrKey) {
		t.Error(err)
	}
}

func script(t *testing.T, text string) string {
	if runtime.GOOS == "windows" {
		t.Skip("the program is a shell script")
	}
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestExternalProvider(t *testing.T) {
	const header = `echo '{"magic":"OpenTofu-External-Key-Provider","version":1}'` + "\n"
	key := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))
	good := header + `in=$(cat); case "$in" in
null) echo '{"keys":{"encryption_key":"` + key + `"},"meta":{"external_data":{"n":"1"}}}';;
'{"external_data":{"n":"1"}}') echo '{"keys":{"encryption_key":"` + key + `","decryption_key":"` + key + `"},"meta":{"external_data":{}}}';;
*) echo "not understood: $in" >&2; exit 1;;
esac`
	at := func(text string) *Target {
		return with(provider(t, "external", "e", map[string]cty.Value{"command": cty.ListVal([]cty.Value{cty.StringVal(script(t, text))})}))
	}
	data, err := at(good).Seal(t.Context(), []byte(plainState))
	if err != nil {
		t.Fatal(err)
	}
	if plain, outdated, err := at(good).Open(t.Context(), data); err != nil || string(plain) != plainState || outdated {
		t.Error(string(plain), outdated, err)
	}
	for text, want := range map[string]string{
		"echo hello": "does not begin with the line",
		`echo '{"magic":"OpenTofu-External-Key-Provider","version":2}'`: "version 2",
		header + "echo nothing":                  "is not valid",
		header + "echo '{}'":                     "no encryption_key",
		header + "echo no key today >&2; exit 3": "no key today",
	} {
		if _, err := at(text).Seal(t.Context(), []byte(plainState)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestExternalKeys uses a program with different keys to encrypt and to decrypt, such as a key pair. A process also
// needs the second key to read its own files.
func TestExternalKeys(t *testing.T) {
	key := func(b byte) string { return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{b}, 32)) }
	keys := provider(t, "external", "e", map[string]cty.Value{"command": cty.ListVal([]cty.Value{cty.StringVal(script(t, `echo '{"magic":"OpenTofu-External-Key-Provider","version":1}'
echo '{"keys":{"encryption_key":"`+key(1)+`","decryption_key":"`+key(2)+`"},"meta":{}}'`))})})
	m := &pair{}
	c := &Cipher{Name: "method.external.m", Method: m, Keys: keys}
	target := &Target{Block: "state", Write: c, Read: []*Cipher{c}}
	data, err := target.Seal(t.Context(), []byte(plainState))
	if err == nil {
		_, _, err = target.Open(t.Context(), data)
	}
	if err != nil || !bytes.Equal(m.sealed, bytes.Repeat([]byte{1}, 32)) || !bytes.Equal(m.opened, bytes.Repeat([]byte{2}, 32)) {
		t.Errorf("encrypted with %v, decrypted with %v, %v", m.sealed, m.opened, err)
	}
}

// pair is a method that does not encrypt, and remembers the keys of its calls.
type pair struct{ sealed, opened []byte }

func (p *pair) Seal(_ context.Context, key, plain []byte) ([]byte, error) {
	p.sealed = key
	return plain, nil
}
func (p *pair) Open(_ context.Context, key, data []byte) ([]byte, error) {
	p.opened = key
	return data, nil
}

// TestNoKey checks the message about a key that could not be obtained, also if the file lacks the metadata of another
// key provider.
func TestNoKey(t *testing.T) {
	data, err := with(passphrase(t, "a", "correct horse battery staple")).Seal(t.Context(), []byte(plainState))
	if err != nil {
		t.Fatal(err)
	}
	var e envelope
	if err := json.Unmarshal(data, &e); err != nil {
		t.Fatal(err)
	}
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	none := provider(t, "age", "a", map[string]cty.Value{"recipients": cty.ListVal([]cty.Value{cty.StringVal(identity.Recipient().String())})})
	_, meta, err := none.Provider.NewKey(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	gone := provider(t, "external", "e", map[string]cty.Value{"command": cty.ListVal([]cty.Value{cty.StringVal("/nonexistent/program")})})
	e.Meta = map[string][]byte{none.Meta: meta, gone.Meta: []byte("{}")}
	e.Meta[digestName] = e.digest()
	if data, err = e.bytes(); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Source{none, gone} {
		for _, target := range []*Target{with(s), with(passphrase(t, "b", "correct horse battery staple"), with(s).Write)} {
			if _, _, err := target.Open(t.Context(), data); err == nil || !strings.Contains(err.Error(), "its key could not be obtained") {
				t.Errorf("%s: %v", s.Name, err)
			}
		}
	}
}

func TestExternalMethod(t *testing.T) {
	path := script(t, `echo '{"magic":"OpenTofu-External-Encryption-Method","version":1}'; cat`)
	k, _ := MethodKinds.Find("external")
	command := cty.ListVal([]cty.Value{cty.StringVal(path)})
	v, err := k.Schema.Coerce(cty.ObjectVal(map[string]cty.Value{"encrypt_command": command, "decrypt_command": command}))
	if err != nil {
		t.Fatal(err)
	}
	m, err := k.Make(store.Settings{Config: v, Schema: k.Schema})
	if err != nil {
		t.Fatal(err)
	}
	c := &Cipher{Name: "method.external.m", Method: m}
	target := &Target{Block: "state", Write: c, Read: []*Cipher{c}}
	data, err := target.Seal(t.Context(), []byte(plainState))
	if err != nil {
		t.Fatal(err)
	}
	if plain, _, err := target.Open(t.Context(), data); err != nil || string(plain) != plainState {
		t.Error(string(plain), err)
	}
}

func TestOpenBao(t *testing.T) {
	key := bytes.Repeat([]byte{9}, 32)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in map[string]any
		_ = json.NewDecoder(r.Body).Decode(&in)
		switch {
		case r.Header.Get("X-Vault-Token") != "s.token":
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"errors":["permission denied"]}`)
		case r.URL.Path == "/v1/my-org/transit/datakey/plaintext/k" && in["bits"] == 256.0:
			fmt.Fprintf(w, `{"data":{"plaintext":%q,"ciphertext":"vault:v1:abc"}}`, base64.StdEncoding.EncodeToString(key))
		case r.URL.Path == "/v1/my-org/transit/decrypt/k" && in["ciphertext"] == "vault:v1:abc":
			fmt.Fprintf(w, `{"data":{"plaintext":%q}}`, base64.StdEncoding.EncodeToString(key))
		default:
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"errors":["what?"]}`)
		}
	}))
	defer srv.Close()
	at := func(token string) *Target {
		return with(provider(t, "openbao", "b", map[string]cty.Value{
			"key_name": cty.StringVal("k"), "token": cty.StringVal(token), "address": cty.StringVal(srv.URL), "transit_engine_path": cty.StringVal("/my-org/transit"),
		}))
	}
	data, err := at("s.token").Seal(t.Context(), []byte(plainState))
	if err != nil {
		t.Fatal(err)
	}
	if plain, outdated, err := at("s.token").Open(t.Context(), data); err != nil || string(plain) != plainState || outdated {
		t.Error(string(plain), outdated, err)
	}
	if _, err := at("other").Seal(t.Context(), []byte(plainState)); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Error(err)
	}
	other := bytes.Replace(data, []byte(base64.StdEncoding.EncodeToString([]byte(`{"ciphertext":"dmF1bHQ6djE6YWJj"}`))), []byte(base64.StdEncoding.EncodeToString([]byte(`{"ciphertext":"dmF1bHQ6djE6eHl6"}`))), 1)
	var e envelope
	if err := json.Unmarshal(other, &e); err != nil {
		t.Fatal(err)
	}
	e.Meta[digestName] = e.digest()
	if other, err = e.bytes(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := at("s.token").Open(t.Context(), other); err == nil || !strings.Contains(err.Error(), "the key k did not encrypt this") || strings.Contains(err.Error(), "could not be obtained") {
		t.Error(err)
	}
	if _, _, err := at("other").Open(t.Context(), data); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Error(err)
	}
}

// TestOpenBaoVariables checks the variables of OpenBao and of Vault, and that a node in standby may redirect a request once.
// A redirect from https to http would show the token.
func TestOpenBaoVariables(t *testing.T) {
	var tokens []string
	active := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tokens = append(tokens, r.Method+" "+r.Header.Get("X-Vault-Token")+" "+r.Header.Get("X-Vault-Namespace"))
		fmt.Fprintf(w, `{"data":{"plaintext":%q,"ciphertext":"c"}}`, base64.StdEncoding.EncodeToString(make([]byte, 32)))
	}))
	defer active.Close()
	redirecting := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, active.URL+r.URL.Path, http.StatusTemporaryRedirect)
	})
	standby, secure := httptest.NewServer(redirecting), httptest.NewTLSServer(redirecting)
	defer standby.Close()
	defer secure.Close()
	twice := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, standby.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer twice.Close()
	k, _ := ProviderKinds.Find("openbao")
	v, err := k.Schema.Coerce(cty.ObjectVal(map[string]cty.Value{"key_name": cty.StringVal("k")}))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"VAULT_ADDR": active.URL, "VAULT_TOKEN": "canary-v", "VAULT_NAMESPACE": "nv"}, "POST canary-v nv"},
		{map[string]string{"VAULT_ADDR": "http://127.0.0.1:1", "VAULT_TOKEN": "canary-v", "BAO_ADDR": active.URL, "BAO_TOKEN": "canary-b", "BAO_NAMESPACE": "nb"}, "POST canary-b nb"},
		{map[string]string{"BAO_ADDR": standby.URL, "BAO_TOKEN": "canary-b"}, "POST canary-b "},
		{map[string]string{"BAO_ADDR": secure.URL, "BAO_TOKEN": "canary-b", "VAULT_SKIP_VERIFY": "true"}, ""},
		{map[string]string{"BAO_ADDR": twice.URL, "BAO_TOKEN": "canary-b"}, ""},
	} {
		tokens = nil
		p, err := k.Make(store.Settings{Config: v, Schema: k.Schema, Getenv: func(name string) string { return c.env[name] }})
		if err == nil {
			_, _, err = p.NewKey(t.Context(), nil)
		}
		if (err == nil) != (c.want != "") || strings.Join(tokens, ",") != c.want || err != nil && strings.Contains(err.Error(), "canary") {
			t.Errorf("%v: %q, %v", c.env, tokens, err)
		}
	}
}

// TestOpenBaoTLS checks that the server may have a certificate of a private authority.
func TestOpenBaoTLS(t *testing.T) {
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"data":{"plaintext":%q,"ciphertext":"c"}}`, base64.StdEncoding.EncodeToString(make([]byte, 32)))
	}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	defer srv.Close()
	dir := t.TempDir()
	for name, text := range map[string][]byte{"ca": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), "none": []byte("x")} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	k, _ := ProviderKinds.Find("openbao")
	v, err := k.Schema.Coerce(cty.ObjectVal(map[string]cty.Value{"key_name": cty.StringVal("k"), "token": cty.StringVal("t"), "address": cty.StringVal(srv.URL)}))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{nil, "certificate"},
		{map[string]string{"BAO_CACERT": filepath.Join(dir, "ca")}, ""},
		{map[string]string{"BAO_CACERT": filepath.Join(dir, "ca"), "BAO_TLS_SERVER_NAME": "another.test"}, "another.test"},
		{map[string]string{"BAO_SKIP_VERIFY": "true"}, ""},
		{map[string]string{"BAO_SKIP_VERIFY": "perhaps"}, "BAO_SKIP_VERIFY"},
		{map[string]string{"BAO_CACERT": filepath.Join(dir, "none")}, "BAO_CACERT or VAULT_CACERT names contains no certificate"},
		{map[string]string{"BAO_CACERT": filepath.Join(dir, "missing")}, "BAO_CACERT or VAULT_CACERT names cannot be read"},
		{map[string]string{"BAO_CLIENT_CERT": filepath.Join(dir, "ca")}, "BAO_CLIENT_KEY"},
	} {
		p, err := k.Make(store.Settings{Config: v, Schema: k.Schema, Getenv: func(name string) string { return c.env[name] }})
		if err == nil {
			_, _, err = p.NewKey(t.Context(), nil)
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.env, err)
		}
	}
}

func TestAge(t *testing.T) {
	a, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	_, ed, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	long, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	to, identities := []cty.Value{cty.StringVal(a.Recipient().String())}, []string{a.String()}
	for _, key := range []crypto.Signer{ed, long} {
		public, err := ssh.NewPublicKey(key.Public())
		if err != nil {
			t.Fatal(err)
		}
		block, err := ssh.MarshalPrivateKey(key, "")
		if err != nil {
			t.Fatal(err)
		}
		to, identities = append(to, cty.StringVal(string(ssh.MarshalAuthorizedKey(public)))), append(identities, string(pem.EncodeToMemory(block)))
	}
	recipients := cty.ListVal(to)
	at := func(identity string) *Target {
		set := map[string]cty.Value{"recipients": recipients}
		if identity != "" {
			set["identity"] = cty.StringVal(identity)
		}
		return with(provider(t, "age", "team", set))
	}
	data, err := at("").Seal(t.Context(), []byte(plainState))
	if err != nil {
		t.Fatal(err)
	}
	for _, identity := range identities {
		if plain, outdated, err := at(identity).Open(t.Context(), data); err != nil || string(plain) != plainState || outdated {
			t.Error(string(plain), outdated, err)
		}
	}
	other, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	for identity, want := range map[string]string{other.String(): "belongs to a recipient", "": "but none is set"} {
		if _, _, err := at(identity).Open(t.Context(), data); err == nil || !strings.Contains(err.Error(), want) {
			t.Error(err)
		}
	}
}

// TestAgeRecipient checks that a message does not quote an invalid recipient, which may be a secret.
func TestAgeRecipient(t *testing.T) {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		identity.String(): "it is a secret identity",
		"-----BEGIN OPENSSH PRIVATE KEY-----\ncanary\n": "it is a secret identity",
		"canary":                "must be an age recipient",
		"ecdsa-sha2-nistp256 A": "of the type ssh-ed25519 or ssh-rsa",
		"age1abc":               "malformed recipient",
		"ssh-rsa AAAA":          "malformed SSH recipient",
	} {
		_, err := making(t, "age", map[string]cty.Value{"recipients": cty.ListVal([]cty.Value{cty.StringVal(text)})})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), identity.String()) {
			t.Errorf("%.12s: %v", text, err)
		}
	}
}

// TestContract runs the tests of all stores on an encrypted store.
func TestContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) func() store.Store {
		dir, target := t.TempDir(), with(passphrase(t, "a", "correct horse battery staple"))
		return func() store.Store {
			return Around(store.NewLocal(store.LocalOptions{Dir: dir, FS: disk.OS}), target)
		}
	})
}

func FuzzOpen(f *testing.F) {
	target := with(&Source{Name: "key_provider.external.f", Meta: "key_provider.external.f", Provider: fixedKey{}})
	data, err := target.Seal(context.Background(), []byte(plainState))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(plainState))
	f.Add([]byte(`{"encrypted_data":`))
	f.Fuzz(func(t *testing.T, in []byte) {
		plain, _, err := target.Open(context.Background(), in)
		if err == nil && len(bytes.TrimSpace(in)) > 0 && !json.Valid(plain) {
			t.Errorf("%q is opened as %q", in, plain)
		}
	})
}

type fixedKey struct{}

func (fixedKey) NewKey(context.Context, []byte) (key, meta []byte, err error) {
	return make([]byte, 32), []byte("{}"), nil
}

func (fixedKey) RecoverKey(context.Context, []byte, []byte) ([]byte, bool, error) {
	return make([]byte, 32), true, nil
}
