package fetch

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cliconfig"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/download"
	"github.com/lethe-iac/lethe/internal/registry"
	"github.com/lethe-iac/lethe/internal/registry/registrytest"
)

// asks is a working directory whose providers come from a registry, which has acme/toy 1.0.0.
func asks(t *testing.T) (*registrytest.Server, *stage, addr.Provider) {
	t.Helper()
	r := registrytest.New(t)
	serveToy(t, r)
	s := newStage(t)
	s.p.Settings = &cliconfig.Settings{}
	s.p.Registry = &registry.Registry{Client: &download.Client{Transport: r.HTTP.Transport, Stall: 2 * time.Second}}
	s.p.StoreDir = t.TempDir()
	return r, s, addr.Provider{Host: r.Host, Namespace: "acme", Type: "toy"}
}

func serveToy(t *testing.T, r *registrytest.Server) {
	r.Provider(t, "acme/toy", "1.0.0", map[string][]byte{Platform(): registrytest.Zip(map[string]string{"terraform-provider-toy_v1.0.0": "the program"})})
}

// from installs one provider and gives what was wrong.
func (s *stage) from(p addr.Provider) string {
	s.Helper()
	var bag diag.Bag
	l := s.lockfile()
	s.p.Install(s.Context(), []Need{{Provider: p, Versions: []config.VersionConstraint{{Text: "1.0.0"}}}}, l, false, &bag)
	if err := l.Write(); err != nil {
		s.Fatal(err)
	}
	var text []string
	for _, d := range bag.List() {
		text = append(text, d.Summary+": "+d.Detail)
	}
	return strings.Join(text, "\n")
}

// A package of the registry is downloaded once for all directories, with each kind of cache; without a lock file the
// plugin cache is not believed.
func TestDownloadedOnce(t *testing.T) {
	for _, cache := range []bool{false, true} {
		r, s, p := asks(t)
		if cache {
			s.p.CacheDir = t.TempDir()
		}
		zips := func() (n int) {
			for _, line := range r.Requests() {
				if strings.HasSuffix(line, ".zip") {
					n++
				}
			}
			return n
		}
		s.fine(s.from(p))
		if n := zips(); n != 1 {
			t.Errorf("cache %v: %d downloads", cache, n)
		}
		if err := os.RemoveAll(s.p.DataDir); err != nil {
			t.Fatal(err)
		}
		s.fine(s.from(p))
		if n := zips(); n != 0 {
			t.Errorf("cache %v: %d downloads for a second directory", cache, n)
		}
		lock, _ := s.lockfile().Get(p)
		if len(lock.Hashes) != 2 || !slices.ContainsFunc(lock.Hashes, func(h string) bool { return strings.HasPrefix(h, "zh:") }) {
			t.Errorf("cache %v: %v", cache, lock.Hashes)
		}
	}
}

// TestHowOften: a package that cannot be had is asked for as often as its method says, and others as often as all.
func TestHowOften(t *testing.T) {
	r, s, p := asks(t)
	zip := ""
	s.fine(s.from(p))
	for _, line := range r.Requests() {
		if path, ok := strings.CutPrefix(line, "GET "); ok && strings.HasSuffix(path, ".zip") {
			zip = path
		}
	}
	none, asked := 0, 0
	r.Fault(zip, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	s.p.Retries = 1
	for _, tt := range []struct {
		in   cliconfig.Installation
		want int
	}{
		{cliconfig.Installation{Method: "direct"}, 2},
		{cliconfig.Installation{Method: "direct", Retries: &none}, 1},
		{cliconfig.Installation{Method: "network_mirror", Path: "https://" + r.Host + "/mirror", Retries: &none}, 1},
	} {
		s.p.StoreDir = t.TempDir()
		if err := os.RemoveAll(s.p.DataDir); err != nil {
			t.Fatal(err)
		}
		asked = 0
		s.p.Settings.Installs, s.p.Settings.Sources = true, []cliconfig.Installation{tt.in}
		if said := s.from(p); asked != tt.want {
			t.Errorf("%s: asked %d times, want %d: %s", tt.in.Method, asked, tt.want, said)
		}
	}
}

// TestTrustedMirror: of a mirror that is trusted the lock file gets the checksums of all platforms, and of another one
// those of this platform.
func TestTrustedMirror(t *testing.T) {
	for _, trusted := range []bool{false, true} {
		r, s, p := asks(t)
		r.Provider(t, "acme/toy", "1.0.0", map[string][]byte{
			Platform(): registrytest.Zip(map[string]string{"terraform-provider-toy_v1.0.0": "the program"}), "plan9_mips": []byte("PK"),
		})
		s.p.Settings.Installs = true
		s.p.Settings.Sources = []cliconfig.Installation{{Method: "network_mirror", Path: "https://" + r.Host + "/mirror", Trusted: trusted}}
		s.fine(s.from(p))
		lock, _ := s.lockfile().Get(p)
		want := 2 // h1 and zh of this platform
		if trusted {
			want = 3
		}
		if len(lock.Hashes) != want || (len(s.p.Unheld) == 0) != trusted {
			t.Errorf("trusted %t: %v, unheld %v", trusted, lock.Hashes, s.p.Unheld)
		}
	}
}

// TestMirrorPromises: what a mirror says of a package is held against it, be it of the archive or of what is in it, and
// nothing that it says is passed over in silence.
func TestMirrorPromises(t *testing.T) {
	r, s, p := asks(t)
	zip := registrytest.Zip(map[string]string{"terraform-provider-toy_v1.0.0": "the program"})
	r.Provider(t, "acme/toy", "1.0.0", map[string][]byte{Platform(): zip})
	at := r.Put("/toy.zip", zip)
	s.p.Settings.Installs = true
	s.p.Settings.Sources = []cliconfig.Installation{{Method: "network_mirror", Path: "https://" + r.Host + "/mirror"}}
	s.fine(s.from(p))
	lock, _ := s.lockfile().Get(p)
	i := slices.IndexFunc(lock.Hashes, func(h string) bool { return strings.HasPrefix(h, "h1:") })
	for hash, want := range map[string]string{
		lock.Hashes[i]: "", "h1:AAAA": "that of what the server promised is h1:AAAA", "x9:AAAA": "only checksums of unknown kinds",
		"zh:abcd": "is not a SHA-256",
	} {
		r.Fault("/mirror/"+r.Host+"/acme/toy/1.0.0.json", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"archives": {%q: {"url": %q, "hashes": [%q]}}}`, Platform(), at, hash)
		})
		if err := errors.Join(os.RemoveAll(s.p.DataDir), os.RemoveAll(s.lockfile().path)); err != nil {
			t.Fatal(err)
		}
		if said := s.from(p); want == "" && said != "" || !strings.Contains(said, want) {
			t.Errorf("%s: %q", hash, said)
		}
	}
}
