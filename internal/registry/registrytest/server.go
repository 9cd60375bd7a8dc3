// Package registrytest provides a registry of providers and modules, and a network mirror, for tests. The server uses
// TLS, with its own certificate authority and signing key.
package registrytest

import (
	"archive/zip"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// Server is a running registry.
type Server struct {
	Host string       // such as "127.0.0.1:1234"
	CA   string       // file with the certificate authority, for SSL_CERT_FILE
	HTTP *http.Client // trusts the certificate authority

	mu     sync.Mutex
	files  map[string][]byte // files by path: JSON documents and packages
	sums   map[string]map[string]string
	faults map[string]http.HandlerFunc
	log    []string
	signer *openpgp.Entity
	made   time.Time
	keys   []string // armored keys that the registry names in its answers
	tags   map[string][]string
	guard  func(http.ResponseWriter, *http.Request) bool // answers forbidden requests and returns false for them; nil: all requests are permitted
}

// New starts a registry, which stops at the end of the test.
func New(t testing.TB) *Server {
	t.Helper()
	return NewOn(t, func(l net.Listener) net.Listener { return l })
}

// NewOn starts a registry as New does, with a listener that on returns. Connections may use HTTP/2, as with most
// servers.
func NewOn(t testing.TB, on func(net.Listener) net.Listener) *Server {
	t.Helper()
	s := &Server{files: map[string][]byte{}, sums: map[string]map[string]string{}, faults: map[string]http.HandlerFunc{}}
	s.Sign(t, time.Now(), 0)
	der, key := certificate(t)
	s.CA = filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(s.CA, text, 0o600); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(s)
	server.Listener, server.EnableHTTP2 = on(server.Listener), true
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	server.StartTLS()
	t.Cleanup(server.Close)
	s.Host = server.Listener.Addr().String()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	s.HTTP = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	s.put("/.well-known/terraform.json", map[string]any{"providers.v1": "/v1/providers/", "modules.v1": "/v1/modules", "login.v1": map[string]any{"client": "lethe"}})
	return s
}

func certificate(t testing.TB) ([]byte, *ecdsa.PrivateKey) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "tests"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return der, key
}

// ServeHTTP serves the file at a path, or calls the handler that Fault has set for it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	line := r.Method + " " + r.URL.Path
	s.log = append(s.log, line)
	fault := s.faults[r.URL.Path]
	body, ok := s.files[r.URL.Path]
	guard := s.guard
	s.mu.Unlock()
	if guard != nil && !guard(w, r) {
		return
	}
	switch {
	case fault != nil:
		fault(w, r)
	case !ok:
		w.WriteHeader(http.StatusNotFound)
	case strings.HasPrefix(string(body), "X-Terraform-Get: "):
		w.Header().Set("X-Terraform-Get", strings.TrimPrefix(string(body), "X-Terraform-Get: "))
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256(body)))
		http.ServeContent(w, r, path.Base(r.URL.Path), time.Time{}, bytes.NewReader(body))
	}
}

// Fault sets a handler for requests to a path. A nil handler removes it.
func (s *Server) Fault(path string, h http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[path] = h
}

// Requests returns the requests since the last call, as "GET /path".
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.log
	s.log = nil
	return out
}

// Put serves a file and returns its https address.
func (s *Server) Put(path string, content []byte) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[path] = content
	return "https://" + s.Host + path
}

func (s *Server) put(path string, doc any) {
	text, err := json.Marshal(doc)
	if err != nil {
		panic(err)
	}
	s.Put(path, text)
}

// Sign creates a new signing key with the given creation time and lifetime (0: unlimited), and makes it the only key
// that the registry names.
func (s *Server) Sign(t testing.TB, made time.Time, valid time.Duration) {
	t.Helper()
	var err error
	s.made = made
	if s.signer, err = openpgp.NewEntity("tests", "", "tests@example.test", &packet.Config{Time: func() time.Time { return made }, KeyLifetimeSecs: uint32(valid.Seconds()), Algorithm: packet.PubKeyAlgoEdDSA}); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w, err := armor.Encode(&b, openpgp.PublicKeyType, nil)
	if err == nil {
		err = s.signer.Serialize(w)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	s.keys = []string{b.String()}
}

// Key returns the ID of the signing key.
func (s *Server) Key() string { return s.signer.PrimaryKey.KeyIdString() }

// Keys sets the armored keys that the registry names. Without arguments it names none.
func (s *Server) Keys(armored ...string) { s.keys = armored }

// Zip returns an archive of files. Files with names that begin with "terraform-provider-" are executable.
func Zip(files map[string]string) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate}
		h.SetMode(0o644)
		if strings.HasPrefix(name, "terraform-provider-") {
			h.SetMode(0o755)
		}
		f, err := w.CreateHeader(h)
		if err == nil {
			_, err = f.Write([]byte(files[name]))
		}
		if err != nil {
			panic(err)
		}
	}
	w.Close()
	return b.Bytes()
}

// Provider serves one version of a provider, "namespace/type", for platforms such as "linux_amd64": in the registry,
// and in the network mirror at /mirror/. It uses the keys that Sign and Keys have set before.
func (s *Server) Provider(t testing.TB, name, version string, packages map[string][]byte) {
	t.Helper()
	ns, typ, _ := strings.Cut(name, "/")
	base := "/v1/providers/" + name + "/"
	var sums strings.Builder
	var platforms []map[string]string
	file := func(platform string) string {
		return "terraform-provider-" + typ + "_" + version + "_" + platform + ".zip"
	}
	for _, platform := range slices.Sorted(maps.Keys(packages)) {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(packages[platform]), file(platform))
		system, arch, _ := strings.Cut(platform, "_")
		platforms = append(platforms, map[string]string{"os": system, "arch": arch})
	}
	at := "/files/" + ns + "/" + typ + "/" + version + "/"
	s.Put(at+"SHA256SUMS", []byte(sums.String()))
	var sig bytes.Buffer
	if err := openpgp.DetachSign(&sig, s.signer, strings.NewReader(sums.String()), &packet.Config{Time: func() time.Time { return s.made }}); err != nil {
		t.Fatal(err)
	}
	s.Put(at+"SHA256SUMS.sig", sig.Bytes())
	keys := []map[string]string{}
	for _, k := range s.keys {
		keys = append(keys, map[string]string{"ascii_armor": k})
	}
	archives := map[string]any{}
	for platform, content := range packages {
		system, arch, _ := strings.Cut(platform, "_")
		s.Put(at+file(platform), content)
		sum := fmt.Sprintf("%x", sha256.Sum256(content))
		s.put(base+version+"/download/"+system+"/"+arch, map[string]any{
			"protocols": []string{"6.0"}, "os": system, "arch": arch, "filename": file(platform), "download_url": at + file(platform), "shasum": sum,
			"shasums_url": at + "SHA256SUMS", "shasums_signature_url": at + "SHA256SUMS.sig", "signing_keys": map[string]any{"gpg_public_keys": keys},
		})
		archives[platform] = map[string]any{"url": "https://" + s.Host + at + file(platform), "hashes": []string{"zh:" + sum}}
	}
	s.version(base+"versions", map[string]any{"version": version, "protocols": []string{"6.0"}, "platforms": platforms})
	mirror := "/mirror/" + s.Host + "/" + name + "/"
	s.put(mirror+version+".json", map[string]any{"archives": archives})
	index := map[string]any{}
	_ = json.Unmarshal(s.files[mirror+"index.json"], &index)
	all, _ := index["versions"].(map[string]any)
	if all == nil {
		all = map[string]any{}
	}
	all[version] = map[string]any{}
	s.put(mirror+"index.json", map[string]any{"versions": all})
}

// version adds a version to the list at a path.
func (s *Server) version(path string, v map[string]any) {
	var doc struct {
		Versions []map[string]any `json:"versions"`
	}
	_ = json.Unmarshal(s.files[path], &doc)
	doc.Versions = append(doc.Versions, v)
	s.put(path, doc)
}

// Module serves one version of a module, "namespace/name/system", with the given source address.
func (s *Server) Module(name, version, source string) {
	base := "/v1/modules/" + name + "/"
	var doc struct {
		Modules []struct {
			Versions []map[string]any `json:"versions"`
		} `json:"modules"`
	}
	_ = json.Unmarshal(s.files[base+"versions"], &doc)
	var list []map[string]any
	if len(doc.Modules) > 0 {
		list = doc.Modules[0].Versions
	}
	list = append(list, map[string]any{"version": version})
	s.put(base+"versions", map[string]any{"modules": []any{map[string]any{"versions": list}}})
	s.Put(base+version+"/download", []byte("X-Terraform-Get: "+source))
}
