package fetch

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cliconfig"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/download"
	"github.com/lethe-iac/lethe/internal/registry"
	"github.com/lethe-iac/lethe/internal/registry/registrytest"
)

// asks returns a registry with acme/toy 1.0.0 and a working directory that installs from it.
func asks(t *testing.T) (*registrytest.Server, *stage, addr.Provider) {
	t.Helper()
	r := registrytest.New(t)
	serveToy(t, r)
	s := newStage(t)
	s.p.Sources.Settings = &cliconfig.Settings{}
	s.p.Sources.Registry = &registry.Registry{Client: &download.Client{Transport: r.HTTP.Transport}}
	s.p.StoreDir = t.TempDir()
	return r, s, addr.Provider{Host: r.Host, Namespace: "acme", Type: "toy"}
}

func serveToy(t *testing.T, r *registrytest.Server) {
	r.Provider(t, "acme/toy", "1.0.0", map[string][]byte{Platform(): registrytest.Zip(map[string]string{"terraform-provider-toy_v1.0.0": "the program"})})
}

// from installs one provider and returns the messages.
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

// TestDownloadedOnce checks that a package of the registry is downloaded once for all directories, with and without a
// plugin cache, and that the lock file has both checksums of the package.
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

// TestHowOften checks that a failed download is repeated as often as the setting of its method, or else the general
// setting, allows.
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
	s.p.Sources.Retries = 1
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
		s.p.Sources.Settings.Installs, s.p.Sources.Settings.Sources = true, []cliconfig.Installation{tt.in}
		if output := s.from(p); asked != tt.want {
			t.Errorf("%s: asked %d times, want %d: %s", tt.in.Method, asked, tt.want, output)
		}
	}
}

// TestTrustedMirror checks that the lock file receives the checksums of all platforms from a trusted mirror, and only
// the checksums of this platform from another mirror.
func TestTrustedMirror(t *testing.T) {
	for _, trusted := range []bool{false, true} {
		r, s, p := asks(t)
		r.Provider(t, "acme/toy", "1.0.0", map[string][]byte{
			Platform(): registrytest.Zip(map[string]string{"terraform-provider-toy_v1.0.0": "the program"}), "plan9_mips": []byte("PK"),
		})
		s.p.Sources.Settings.Installs = true
		s.p.Sources.Settings.Sources = []cliconfig.Installation{{Method: "network_mirror", Path: "https://" + r.Host + "/mirror", Trusted: trusted}}
		s.fine(s.from(p))
		lock, _ := s.lockfile().Get(p)
		want := 2 // the checksums h1 and zh of the package for this platform
		if trusted {
			want = 3
		}
		if len(lock.Hashes) != want || (len(s.p.Unverified) == 0) != trusted {
			t.Errorf("trusted %t: %v, unheld %v", trusted, lock.Hashes, s.p.Unverified)
		}
	}
}

// installedFromMirror returns the results of asks for a provider that was installed from a network mirror, the path of its archive
// on the server, and its hashes in the lock file.
func installedFromMirror(t *testing.T) (r *registrytest.Server, s *stage, p addr.Provider, at string, hashes []string) {
	t.Helper()
	r, s, p = asks(t)
	zip := registrytest.Zip(map[string]string{"terraform-provider-toy_v1.0.0": "the program"})
	r.Provider(t, "acme/toy", "1.0.0", map[string][]byte{Platform(): zip})
	at = r.Put("/toy.zip", zip)
	s.p.Sources.Settings.Installs = true
	s.p.Sources.Settings.Sources = []cliconfig.Installation{{Method: "network_mirror", Path: "https://" + r.Host + "/mirror"}}
	s.fine(s.from(p))
	lock, _ := s.lockfile().Get(p)
	return r, s, p, at, lock.Hashes
}

// TestMirrorPromises checks that a package must match the checksums that a mirror declares, for the archive or for its
// content, and that checksums of unknown kinds are reported.
func TestMirrorPromises(t *testing.T) {
	r, s, p, at, hashes := installedFromMirror(t)
	i := slices.IndexFunc(hashes, func(h string) bool { return strings.HasPrefix(h, "h1:") })
	for hash, want := range map[string]string{
		hashes[i]: "", "h1:AAAA": "but the server announced h1:AAAA", "x9:AAAA": "no checksum of a supported kind",
		"zh:abcd": "is not a SHA-256",
	} {
		r.Fault("/mirror/"+r.Host+"/acme/toy/1.0.0.json", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"archives": {%q: {"url": %q, "hashes": [%q]}}}`, Platform(), at, hash)
		})
		if err := errors.Join(os.RemoveAll(s.p.DataDir), os.RemoveAll(s.lockfile().path)); err != nil {
			t.Fatal(err)
		}
		if output := s.from(p); want == "" && output != "" || !strings.Contains(output, want) {
			t.Errorf("%s: %q", hash, output)
		}
	}
}

// TestMirrorAndLockedArchive checks that the lock file may have only the checksum of the archive if the mirror announces
// other hashes or none, and that one of several announced hashes is enough.
func TestMirrorAndLockedArchive(t *testing.T) {
	for _, cache := range []bool{false, true} {
		r, s, p, at, hashes := installedFromMirror(t)
		h1, zh := hashes[0], hashes[1]
		const other = "zh:0000000000000000000000000000000000000000000000000000000000000000"
		for _, x := range []struct{ announced, locked, want string }{
			{"", zh, ""}, {"", other, "does not match any of the checksums"}, {h1, zh, ""}, {h1, other, "does not match any of the checksums"},
			{zh + " " + other, zh, ""}, {other + " " + other, zh, "but the server announced"}, {h1 + " " + zh + " " + other, h1, ""},
		} {
			r.Fault("/mirror/"+r.Host+"/acme/toy/1.0.0.json", func(w http.ResponseWriter, _ *http.Request) {
				doc, _ := json.Marshal(map[string]any{"archives": map[string]any{Platform(): map[string]any{"url": at, "hashes": strings.Fields(x.announced)}}})
				w.Write(doc)
			})
			if err := os.RemoveAll(s.p.DataDir); err != nil {
				t.Fatal(err)
			}
			if s.p.StoreDir = t.TempDir(); cache {
				s.p.CacheDir = t.TempDir()
			}
			text := fmt.Sprintf("provider %q {\n  version = \"1.0.0\"\n  hashes = [%q]\n}\n", p, x.locked)
			if err := os.WriteFile(s.lockfile().path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			if output := s.from(p); x.want == "" && output != "" || !strings.Contains(output, x.want) {
				t.Errorf("cache %t, %v: %q", cache, x, output)
			}
		}
	}
}

// TestMirrorHasProviderOfOtherRegistry checks that a network mirror that was made for the registry of Terraform also
// serves a provider whose address is in the registry of OpenTofu, and the reverse.
func TestMirrorHasProviderOfOtherRegistry(t *testing.T) {
	for _, host := range []string{addr.DefaultHost, addr.TerraformHost} {
		r, s, _ := asks(t)
		p := addr.Provider{Host: host, Namespace: "acme", Type: "toy"}
		other, _ := p.Counterpart()
		zip := r.Put("/toy.zip", registrytest.Zip(map[string]string{"terraform-provider-toy_v1.0.0": "the program"}))
		r.Put("/mirror/"+other.String()+"/index.json", []byte(`{"versions": {"1.0.0": {}}}`))
		r.Put("/mirror/"+other.String()+"/1.0.0.json", fmt.Appendf(nil, `{"archives": {%q: {"url": %q}}}`, Platform(), zip))
		s.p.Sources.Settings.Installs = true
		s.p.Sources.Settings.Sources = []cliconfig.Installation{{Method: "network_mirror", Path: "https://" + r.Host + "/mirror"}}
		s.fine(s.from(p))
		if _, ok := s.lockfile().Get(p); !ok {
			t.Errorf("%s is not locked", p)
		}
	}
}
