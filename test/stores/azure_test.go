package stores

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/md5"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/azurestore"
	"github.com/lethe-iac/lethe/internal/store/storetest"
)

// azure is a storage account with the container "states". It has the part of the blob service that backends use.
type azure struct {
	sync.Mutex
	blobs  map[string]*azureBlob
	former map[string][]azureVersion // former versions of blobs, if the account has versioning; nil: no versioning
	writes int
}

// azureVersion is a former version of a blob, or a snapshot.
type azureVersion struct {
	id       string
	snapshot bool
	data     []byte
}

type azureBlob struct {
	data     []byte
	etag     string
	lease    string
	metadata map[string]string
}

const azureKey = "Y2FuYXJ5LTQ3MTE=" // the key of the account, "canary-4711" in base64

func (a *azure) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.Lock()
	defer a.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	refuse := func(status int, code string) {
		w.Header().Set("X-Ms-Error-Code", code)
		w.WriteHeader(status)
		fmt.Fprintf(w, `<?xml version="1.0" encoding="utf-8"?><Error><Code>%s</Code><Message>no</Message></Error>`, code)
	}
	if !strings.HasPrefix(r.Header.Get("Authorization"), "SharedKey acct:") {
		refuse(http.StatusForbidden, "AuthenticationFailed")
		return
	}
	q, head := r.URL.Query(), r.Header
	name, _ := strings.CutPrefix(r.URL.Path, "/states/")
	b := a.blobs[name]
	if q.Get("comp") == "list" {
		a.list(w, q.Get("prefix"), strings.Contains(q.Get("include"), "versions"))
		return
	}
	if id := q.Get("versionid") + q.Get("snapshot"); id != "" {
		i := slices.IndexFunc(a.former[name], func(v azureVersion) bool { return v.id == id && v.snapshot == q.Has("snapshot") })
		switch {
		case i < 0:
			refuse(http.StatusNotFound, "BlobNotFound")
		case r.Method == http.MethodDelete:
			a.former[name] = slices.Delete(a.former[name], i, i+1)
			w.WriteHeader(http.StatusAccepted)
		default:
			w.Write(a.former[name][i].data)
		}
		return
	}
	creating := r.Method == http.MethodPut && q.Get("comp") == ""
	leased := b != nil && b.lease != ""
	match, none := head.Get("If-Match"), head.Get("If-None-Match")
	switch {
	case b == nil && !creating:
		refuse(http.StatusNotFound, "BlobNotFound")
		return
	case none == "*" && b != nil:
		refuse(http.StatusConflict, "BlobAlreadyExists")
		return
	case match != "" && (b == nil || b.etag != match):
		refuse(http.StatusPreconditionFailed, "ConditionNotMet")
		return
	case leased && r.Method != http.MethodGet && r.Method != http.MethodHead && q.Get("comp") != "lease" && q.Get("comp") != "snapshot" && head.Get("X-Ms-Lease-Id") != b.lease:
		refuse(http.StatusPreconditionFailed, "LeaseIdMissing")
		return
	case !leased && head.Get("X-Ms-Lease-Id") != "":
		refuse(http.StatusPreconditionFailed, "LeaseNotPresentWithBlobOperation")
		return
	}
	switch {
	case q.Get("comp") == "lease" && head.Get("X-Ms-Lease-Action") == "acquire":
		if leased && b.lease != head.Get("X-Ms-Proposed-Lease-Id") {
			refuse(http.StatusConflict, "LeaseAlreadyPresent")
			return
		}
		b.lease = head.Get("X-Ms-Proposed-Lease-Id")
		w.Header().Set("X-Ms-Lease-Id", b.lease)
		w.WriteHeader(http.StatusCreated)
	case q.Get("comp") == "lease":
		if b.lease != head.Get("X-Ms-Lease-Id") {
			refuse(http.StatusConflict, "LeaseIdMismatchWithLeaseOperation")
			return
		}
		b.lease = ""
	case q.Get("comp") == "metadata":
		a.writes++
		b.etag, b.metadata = fmt.Sprintf(`"0x%d"`, a.writes), metadataOf(head)
	case q.Get("comp") == "snapshot":
		a.keep(name, b, true)
		w.WriteHeader(http.StatusCreated)
	case creating:
		a.writes++
		if b == nil {
			b = &azureBlob{}
			a.blobs[name] = b
		}
		a.keep(name, b, false)
		b.data, b.etag, b.metadata = body, fmt.Sprintf(`"0x%d"`, a.writes), metadataOf(head)
		w.Header().Set("ETag", b.etag)
		w.WriteHeader(http.StatusCreated)
	case r.Method == http.MethodDelete:
		delete(a.blobs, name)
		w.WriteHeader(http.StatusAccepted)
	default:
		b.describe(w.Header())
		if r.Method == http.MethodGet {
			w.Write(b.data)
		}
	}
}

// keep adds the present content of a blob to its former versions, if the account has versioning. If snapshot is true,
// it is marked as a snapshot.
func (a *azure) keep(name string, b *azureBlob, snapshot bool) {
	if a.former != nil {
		id := fmt.Sprintf("2026-11-01T10:00:%02d.0000000Z", len(a.former[name]))
		a.former[name] = append(a.former[name], azureVersion{id, snapshot, b.data})
	}
}

// describe sets the headers about a blob.
func (b *azureBlob) describe(h http.Header) {
	sum := md5.Sum(b.data)
	h.Set("ETag", b.etag)
	h.Set("Content-MD5", base64.StdEncoding.EncodeToString(sum[:]))
	h.Set("Content-Length", fmt.Sprint(len(b.data)))
	h.Set("X-Ms-Blob-Type", "BlockBlob")
	h.Set("X-Ms-Lease-Status", "unlocked")
	if b.lease != "" {
		h.Set("X-Ms-Lease-Status", "locked")
	}
	for name, v := range b.metadata {
		h.Set(name, v)
	}
}

func metadataOf(h http.Header) map[string]string {
	out := map[string]string{}
	for name := range h {
		if strings.HasPrefix(name, "X-Ms-Meta-") {
			out[name] = h.Get(name)
		}
	}
	return out
}

func (a *azure) list(w http.ResponseWriter, prefix string, versions bool) {
	w.Header().Set("Content-Type", "application/xml")
	fmt.Fprint(w, `<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Blobs>`)
	for name, all := range a.former {
		for _, v := range all {
			if versions && strings.HasPrefix(name, prefix) {
				kind := "VersionId"
				if v.snapshot {
					kind = "Snapshot"
				}
				fmt.Fprintf(w, "<Blob><Name>%[1]s</Name><%[2]s>%[3]s</%[2]s><Properties><Content-Length>%[4]d</Content-Length></Properties></Blob>", name, kind, v.id, len(v.data))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.blobs)) {
		if strings.HasPrefix(name, prefix) {
			fmt.Fprintf(w, "<Blob><Name>%s</Name><Properties><Content-Length>%d</Content-Length></Properties></Blob>", name, len(a.blobs[name].data))
		}
	}
	fmt.Fprint(w, `</Blobs><NextMarker/></EnumerationResults>`)
}

func TestAzure(t *testing.T) {
	opener := func(t *testing.T, around func(http.Handler) http.Handler) func() store.Store {
		server := httptest.NewServer(around(&azure{blobs: map[string]*azureBlob{}}))
		server.Config.ErrorLog = nil
		t.Cleanup(server.Close)
		return func() store.Store {
			key, err := container.NewSharedKeyCredential("acct", azureKey)
			check(t, err)
			c, err := container.NewClientWithSharedKeyCredential(server.URL+"/states", key, &container.ClientOptions{ClientOptions: azcore.ClientOptions{Retry: policy.RetryOptions{MaxRetries: -1}}})
			check(t, err)
			return store.Retrying(azurestore.New(azurestore.Options{Container: c, Key: "net/a.tfstate", Snapshot: true}), store.Tries{Retries: 3, Shortest: time.Millisecond, Longest: time.Millisecond})
		}
	}
	t.Run("contract", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) func() store.Store { return opener(t, plain) })
	})
	t.Run("what is locked", func(t *testing.T) {
		open := opener(t, plain)
		_, err := open().Lock(ctx, "w", store.NewLockInfo("o", "1"))
		check(t, err)
		_, err = open().Lock(ctx, "w", store.NewLockInfo("o", "1"))
		var held *store.LockError
		if !errors.As(err, &held) || held.Held == nil || held.Held.Path != "states/net/a.tfstateenv:w" {
			t.Errorf("%+v", err)
		}
	})
	t.Run("cut", func(t *testing.T) {
		storetest.RunInterrupted(t, func(t *testing.T) (func() store.Store, storetest.Breaks) {
			c := &storetest.Interrupter{}
			return opener(t, func(h http.Handler) http.Handler {
				c.Handler = h
				return c
			}), c
		})
	})
}

// startAzure runs an empty account until the end of the test, behind a proxy that represents the whole cloud. It
// returns environment variables for programs: the address of the proxy, the authority of its certificates, and the key.
func startAzure(t *testing.T) []string { return serveAzure(t, &azure{blobs: map[string]*azureBlob{}}) }

// serveAzure runs a given account, like startAzure, which runs an empty one. The proxy refuses requests to hosts other
// than the account's.
func serveAzure(t *testing.T, account *azure) []string {
	return append(startCloud(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "acct.blob.core.windows.net" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		account.ServeHTTP(w, r)
	})), "ARM_ACCESS_KEY="+azureKey)
}

// startCloud runs a server that answers for every host of the internet, with TLS, and a proxy that leads to it. hosts
// gets all requests. It returns environment variables for programs: the proxy, and the authority of the certificates.
func startCloud(t *testing.T, hosts http.Handler) []string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	authority := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	ca, err := x509.CreateCertificate(rand.Reader, authority, authority, &key.PublicKey, key)
	check(t, err)
	file := filepath.Join(t.TempDir(), "ca.pem")
	check(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca}), 0o600))
	server := httptest.NewUnstartedServer(hosts)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		leaf := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), DNSNames: []string{hello.ServerName}, NotBefore: authority.NotBefore, NotAfter: authority.NotAfter}
		cert, err := x509.CreateCertificate(rand.Reader, leaf, authority, &key.PublicKey, key)
		return &tls.Certificate{Certificate: [][]byte{cert}, PrivateKey: key}, err
	}}
	server.StartTLS()
	t.Cleanup(server.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go tunnel(c, server.Listener.Addr().String())
		}
	}()
	return []string{"HTTPS_PROXY=http://" + l.Addr().String(), "SSL_CERT_FILE=" + file}
}

// tunnel connects a client of the proxy with the server, for every host.
func tunnel(c net.Conn, to string) {
	defer c.Close()
	r := bufio.NewReader(c)
	req, err := http.ReadRequest(r)
	if err != nil || req.Method != http.MethodConnect {
		fmt.Fprint(c, "HTTP/1.1 403 Forbidden\r\n\r\n")
		return
	}
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	fmt.Fprint(c, "HTTP/1.1 200 OK\r\n\r\n")
	go func() {
		io.Copy(server, r)
		server.Close()
	}()
	io.Copy(c, server)
}
