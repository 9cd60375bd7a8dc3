package oci_test

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apparentlymart/go-versions/versions"
	"github.com/lethe-iac/lethe/internal/oci"
	"github.com/lethe-iac/lethe/internal/registry/registrytest"
)

// Each kind of request ends with an error if the registry stops sending.
func TestSilence(t *testing.T) {
	v := versions.MustParseVersion("1.0.0")
	for name, path := range map[string]string{"tags": "/v2/p/tags/list", "manifest": "/v2/p/manifests/1.0.0", "package": "/v2/p/blobs/"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := registrytest.New(t)
			zip := registrytest.Zip(map[string]string{"terraform-provider-p": "x"})
			s.ProviderImage("p", "1.0.0", map[string][]byte{"linux_amd64": zip})
			c := &oci.Client{Transport: s.HTTP.Transport, Stall: 300 * time.Millisecond}
			get := func() error {
				vs, err := c.Versions(t.Context(), s.Host+"/p")
				if err != nil || len(vs) != 1 {
					return err
				}
				blob, err := c.Provider(t.Context(), s.Host+"/p", v, "linux_amd64")
				if err != nil {
					return err
				}
				if blob.Size != int64(len(zip)) {
					t.Errorf("the package has %d bytes", blob.Size)
				}
				if name == "package" {
					s.Fault(path+"sha256:"+blob.Sum, func(w http.ResponseWriter, r *http.Request) {
						w.Header().Set("Content-Length", strconv.Itoa(len(zip)))
						io.WriteString(w, "PK")
						w.(http.Flusher).Flush()
						<-r.Context().Done()
					})
				}
				var b bytes.Buffer
				return blob.Save(t.Context(), &b, 1<<20)
			}
			if name != "package" {
				s.Fault(path, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
			}
			if err := get(); err == nil || !strings.Contains(err.Error(), "sent nothing for 300ms") {
				t.Error(err)
			}
		})
	}
}

// A download continues after a cut, whether or not the server can send a part of the package.
func TestCut(t *testing.T) {
	v := versions.MustParseVersion("1.0.0")
	for _, parts := range []bool{true, false} {
		s := registrytest.New(t)
		zip := registrytest.Zip(map[string]string{"terraform-provider-p": strings.Repeat("x", 10_000), "y": "z"})
		s.ProviderImage("p", "1.0.0", map[string][]byte{"linux_amd64": zip})
		c := &oci.Client{Transport: s.HTTP.Transport, Retries: 2}
		blob, err := c.Provider(t.Context(), s.Host+"/p", v, "linux_amd64")
		if err != nil {
			t.Fatal(err)
		}
		cuts := 0
		s.Fault("/v2/p/blobs/sha256:"+blob.Sum, func(w http.ResponseWriter, r *http.Request) {
			if parts {
				w.Header().Set("Accept-Ranges", "bytes")
			}
			if cuts++; cuts == 1 {
				w.Header().Set("Content-Length", strconv.Itoa(len(zip)))
				w.Write(zip[:50])
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			}
			if parts {
				http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(zip))
			} else {
				w.Header().Set("Content-Length", strconv.Itoa(len(zip)))
				w.Write(zip)
			}
		})
		var b bytes.Buffer
		if err := blob.Save(t.Context(), &b, 1<<20); err != nil || !bytes.Equal(b.Bytes(), zip) {
			t.Errorf("parts %v: %v, %d bytes after %d requests", parts, err, b.Len(), cuts)
		}
	}
}
