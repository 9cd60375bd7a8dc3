package fetch

import (
	"net/http"
	"os"
	"path/filepath"
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

// What a registry hands out is installed whole and as promised, or not at all, with one message.
func TestUntrueRegistry(t *testing.T) {
	zip := "/files/acme/toy/1.0.0/terraform-provider-toy_1.0.0_" + Platform() + ".zip"
	evil := func(t *testing.T, r *registrytest.Server, content []byte) {
		r.Provider(t, "acme/toy", "1.0.0", map[string][]byte{Platform(): content})
	}
	for _, x := range []struct {
		name  string
		wrong func(t *testing.T, r *registrytest.Server)
		want  string
	}{
		{"another package", func(t *testing.T, r *registrytest.Server) {
			r.Put(zip, registrytest.Zip(map[string]string{"terraform-provider-toy_v1.0.0": "another"}))
		}, "is what was promised"},
		{"no archive", func(t *testing.T, r *registrytest.Server) { evil(t, r, []byte("<html>not found</html>")) }, "no archive"},
		{"names that lead out", func(t *testing.T, r *registrytest.Server) {
			evil(t, r, registrytest.Zip(map[string]string{"../../../../x": "", "terraform-provider-toy": ""}))
		}, "leads out"},
		{"no package", func(t *testing.T, r *registrytest.Server) {
			r.Fault(zip, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) })
		}, "404"},
		{"silence", func(t *testing.T, r *registrytest.Server) {
			r.Fault(zip, func(w http.ResponseWriter, q *http.Request) { <-q.Context().Done() })
		}, "sent nothing for"},
		{"longer than promised", func(t *testing.T, r *registrytest.Server) {
			r.Fault(zip, func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 1<<20)) })
		}, "is what was promised"},
		{"other platforms alone", func(t *testing.T, r *registrytest.Server) {
			r.Put("/v1/providers/acme/toy/versions", []byte(`{"versions":[{"version":"1.0.0","platforms":[{"os":"plan9","arch":"386"}]}]}`))
		}, "Incompatible provider version: Provider "},
		{"an older protocol", func(t *testing.T, r *registrytest.Server) {
			r.Put("/v1/providers/acme/toy/versions", []byte(`{"versions":[{"version":"1.0.0","protocols":["4.0"]}]}`))
		}, "speaks version 4.0 of the plugin protocol"},
		{"a version that is a path", func(t *testing.T, r *registrytest.Server) {
			r.Put("/v1/providers/acme/toy/versions", []byte(`{"versions":[{"version":"../../1.0.0"}]}`))
		}, "was not found"},
		{"a signature of another", func(t *testing.T, r *registrytest.Server) {
			r.Put("/files/acme/toy/1.0.0/SHA256SUMS", []byte(strings.Repeat("a", 64)+"  x.zip\n"))
		}, "does not hold"},
	} {
		for _, place := range []string{"store", "cache", "neither"} {
			t.Run(x.name+"/"+place, func(t *testing.T) {
				t.Parallel()
				r, s, p := asks(t)
				x.wrong(t, r)
				if place != "store" {
					s.p.StoreDir = ""
				}
				if place == "cache" {
					s.p.CacheDir = t.TempDir()
				}
				got := s.from(p)
				if !strings.Contains(got, x.want) || strings.Count(got, "\n") > 3 {
					t.Errorf("got %q", got)
				}
				for _, dir := range []string{s.dir, s.p.StoreDir, s.p.CacheDir} {
					if dir != "" {
						nothing(t, dir)
					}
				}
			})
		}
	}
}

// nothing finds files that an installation left although it failed; locks are none.
func nothing(t *testing.T, dir string) {
	t.Helper()
	filepath.WalkDir(dir, func(path string, d os.DirEntry, _ error) error {
		if d != nil && !d.IsDir() && !strings.HasSuffix(path, ".lock") {
			t.Errorf("%s is left", path)
		}
		return nil
	})
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
