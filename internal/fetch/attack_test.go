package fetch

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/disk/disktest"
	"github.com/lethe-iac/lethe/internal/registry/registrytest"
)

// bomb returns an archive whose content is much larger than the archive.
var bomb = sync.OnceValue(func() []byte {
	return registrytest.Zip(map[string]string{"terraform-provider-toy": strings.Repeat("\x00", 48<<20)})
})

// crowd returns an archive with very many files.
var crowd = sync.OnceValue(func() []byte {
	n := 21_000
	if os.Getenv("LETHE_LONG") != "" {
		n = 1_000_000
	}
	all := map[string]string{}
	for i := range n {
		all[fmt.Sprint(i)] = ""
	}
	return registrytest.Zip(all)
})

// silent is part of the message about a server that stops sending.
const silent = "sent nothing for"

// TestAttacks checks that content of servers is installed completely and verified, or not at all. A refusal has one
// message, and no file is written elsewhere.
func TestAttacks(t *testing.T) {
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
		}, "but should have"},
		{"no archive", func(t *testing.T, r *registrytest.Server) { evil(t, r, []byte("<html>not found</html>")) }, "not a valid archive"},
		{"names that lead out", func(t *testing.T, r *registrytest.Server) {
			evil(t, r, registrytest.Zip(map[string]string{"../../../../x": "", "terraform-provider-toy": ""}))
		}, "leads out"},
		{"a device", func(t *testing.T, r *registrytest.Server) {
			evil(t, r, []byte(zipped(t, entry{"terraform-provider-toy", "", os.ModeDevice})))
		}, "only plain files"},
		{"a link", func(t *testing.T, r *registrytest.Server) {
			evil(t, r, []byte(zipped(t, entry{"terraform-provider-toy", "/bin/sh", os.ModeSymlink | 0o777})))
		}, "only plain files"},
		{"a link, and through it", func(t *testing.T, r *registrytest.Server) {
			evil(t, r, []byte(zipped(t, entry{"x", "/tmp", os.ModeSymlink | 0o777}, entry{"x/y", "", 0o644})))
		}, "in the archive: "},
		{"a name of two lines", func(t *testing.T, r *registrytest.Server) {
			evil(t, r, registrytest.Zip(map[string]string{"a\nb": "", "terraform-provider-toy": ""}))
		}, "newlines|line break"},
		{"an absolute name", func(t *testing.T, r *registrytest.Server) {
			evil(t, r, registrytest.Zip(map[string]string{"/etc/x": "", "terraform-provider-toy": ""}))
		}, "leads out"},
		{"a bomb", func(t *testing.T, r *registrytest.Server) {
			evil(t, r, bomb())
		}, "more than 100 times larger"},
		{"very many entries", func(t *testing.T, r *registrytest.Server) {
			evil(t, r, crowd())
		}, "more than 20000"},
		{"shorter than said", func(t *testing.T, r *registrytest.Server) {
			r.Fault(zip, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "1000")
				w.Write([]byte("PK\x03\x04"))
			})
		}, "the connection was interrupted"},
		{"shorter than promised", func(t *testing.T, r *registrytest.Server) {
			r.Fault(zip, func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("PK\x03\x04")) })
		}, "but should have"},
		{"a cut", func(t *testing.T, r *registrytest.Server) {
			r.Fault(zip, func(w http.ResponseWriter, _ *http.Request) {
				w.Write([]byte("PK\x03\x04"))
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			})
		}, "the connection was interrupted"},
		{"silence in the middle", func(t *testing.T, r *registrytest.Server) {
			r.Fault(zip, func(w http.ResponseWriter, q *http.Request) {
				w.Write([]byte("PK\x03\x04"))
				w.(http.Flusher).Flush()
				<-q.Context().Done()
			})
		}, silent},
		{"redirects without end", func(t *testing.T, r *registrytest.Server) {
			r.Fault(zip, func(w http.ResponseWriter, q *http.Request) { http.Redirect(w, q, zip, http.StatusFound) })
		}, "redirects more than 10 times"},
		{"a redirect to http", func(t *testing.T, r *registrytest.Server) {
			r.Fault(zip, func(w http.ResponseWriter, q *http.Request) {
				http.Redirect(w, q, "http://"+r.Host+zip, http.StatusFound)
			})
		}, "not protected"},
		{"a page in the place of a list", func(t *testing.T, r *registrytest.Server) {
			r.Fault("/v1/providers/acme/toy/versions", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				w.Write([]byte("<html>log in first</html>"))
			})
		}, "cannot be read: invalid character"},
		{"a list without end", func(t *testing.T, r *registrytest.Server) {
			r.Fault("/v1/providers/acme/toy/versions", func(w http.ResponseWriter, _ *http.Request) {
				for b := make([]byte, 1<<20); ; {
					if _, err := w.Write(b); err != nil {
						return
					}
				}
			})
		}, "answered with more than"},
		{"another checksum than the signed one", func(t *testing.T, r *registrytest.Server) {
			text := fmt.Sprintf(`{"filename": "terraform-provider-toy_1.0.0_%s.zip", "download_url": %q, "shasum": %q, "shasums_url": "/files/acme/toy/1.0.0/SHA256SUMS", "shasums_signature_url": "/files/acme/toy/1.0.0/SHA256SUMS.sig", "signing_keys": {}}`, Platform(), zip, strings.Repeat("a", 64))
			r.Put("/v1/providers/acme/toy/1.0.0/download/"+strings.Replace(Platform(), "_", "/", 1), []byte(text))
		}, "its own list of checksums has"},
		{"a checksum that is a path", func(t *testing.T, r *registrytest.Server) {
			text := fmt.Sprintf(`{"filename": "../x", "download_url": %q, "shasum": "../../x", "shasums_url": "/files/acme/toy/1.0.0/SHA256SUMS", "shasums_signature_url": "/files/acme/toy/1.0.0/SHA256SUMS.sig", "signing_keys": {}}`, zip)
			r.Put("/v1/providers/acme/toy/1.0.0/download/"+strings.Replace(Platform(), "_", "/", 1), []byte(text))
		}, "its own list of checksums has"},
		{"no package", func(t *testing.T, r *registrytest.Server) {
			r.Fault(zip, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) })
		}, "404"},
		{"silence", func(t *testing.T, r *registrytest.Server) {
			r.Fault(zip, func(w http.ResponseWriter, q *http.Request) { <-q.Context().Done() })
		}, silent},
		{"longer than promised", func(t *testing.T, r *registrytest.Server) {
			r.Fault(zip, func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 1<<20)) })
		}, "but should have"},
		{"other platforms alone", func(t *testing.T, r *registrytest.Server) {
			r.Put("/v1/providers/acme/toy/versions", []byte(`{"versions":[{"version":"1.0.0","platforms":[{"os":"plan9","arch":"386"}]}]}`))
		}, "Incompatible provider version: Provider "},
		{"an older protocol", func(t *testing.T, r *registrytest.Server) {
			r.Put("/v1/providers/acme/toy/versions", []byte(`{"versions":[{"version":"1.0.0","protocols":["4.0"]}]}`))
		}, "uses version 4.0 of the plugin protocol"},
		{"a version that is a path", func(t *testing.T, r *registrytest.Server) {
			r.Put("/v1/providers/acme/toy/versions", []byte(`{"versions":[{"version":"../../1.0.0"}]}`))
		}, "was not found"},
		{"a signature of another", func(t *testing.T, r *registrytest.Server) {
			r.Put("/files/acme/toy/1.0.0/SHA256SUMS", []byte(strings.Repeat("a", 64)+"  x.zip\n"))
		}, "list of checksums is not valid"},
	} {
		for _, place := range []string{"store", "cache", "neither"} {
			t.Run(x.name+"/"+place, func(t *testing.T) {
				t.Parallel()
				r, s, p := asks(t)
				if x.want == silent {
					s.p.Sources.Registry.Client.Stall = 2 * time.Second
				}
				x.wrong(t, r)
				if place != "store" {
					s.p.StoreDir = ""
				}
				if place == "cache" {
					s.p.CacheDir = t.TempDir()
				}
				got := s.from(p)
				if !regexp.MustCompile(x.want).MatchString(got) || strings.Count(got, "\n") > 3 {
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

// nothing fails if a failed installation has left files, except for lock files.
func nothing(t *testing.T, dir string) {
	t.Helper()
	filepath.WalkDir(dir, func(path string, d os.DirEntry, _ error) error {
		if d != nil && !d.IsDir() && !strings.HasSuffix(path, ".lock") {
			t.Errorf("%s is left", path)
		}
		return nil
	})
}

// TestLinksInTheWay checks that a link of an attacker in the place of a package directory is not followed.
func TestLinksInTheWay(t *testing.T) {
	disktest.NeedLinks(t)
	for _, x := range []struct {
		name string
		at   func(s *stage, host string) string // the path of the link
		want string                             // a part of the error; "" if the link is replaced
	}{
		{"the namespace", func(s *stage, host string) string { return filepath.Join(s.p.base(), host, "acme") }, "not a directory. Remove it"},
		{"the package", func(s *stage, host string) string {
			return filepath.Join(s.p.base(), host, "acme/toy/1.0.0", Platform())
		}, ""},
		{"the namespace in the plugin cache", func(s *stage, host string) string {
			s.p.CacheDir = s.TempDir()
			return filepath.Join(s.p.CacheDir, host, "acme")
		}, "not a directory. Remove it"},
		{"the package in the plugin cache", func(s *stage, host string) string {
			s.p.CacheDir = s.TempDir()
			return filepath.Join(s.p.CacheDir, host, "acme/toy/1.0.0", Platform())
		}, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			r, s, p := asks(t)
			outside := t.TempDir()
			at := x.at(s, r.Host)
			if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.Symlink(outside, at)); err != nil {
				t.Fatal(err)
			}
			got := s.from(p)
			if (got == "") != (x.want == "") || !strings.Contains(got, x.want) {
				t.Errorf("got %q", got)
			}
			nothing(t, outside)
			if x.want == "" {
				if err := s.p.Verify(p, s.lockfile()); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestPoisonedStore checks that a changed package in the store is not used: a link, other content with a record that
// confirms it, and a record of another machine.
func TestPoisonedStore(t *testing.T) {
	for name, poison := range map[string]func(t *testing.T, dir string) error{
		"other contents": func(t *testing.T, dir string) error {
			program := filepath.Join(dir, "terraform-provider-toy_v1.0.0")
			info, err := os.Stat(program)
			if err != nil {
				return err
			}
			return errors.Join(os.WriteFile(program, []byte("THE PROGRAM"), 0o755), os.Chtimes(program, info.ModTime(), info.ModTime()))
		},
		"another file": func(t *testing.T, dir string) error {
			return os.WriteFile(filepath.Join(dir, "terraform-provider-toy"), []byte("#!/bin/sh"), 0o755)
		},
		"a link to another directory": func(t *testing.T, dir string) error {
			other := t.TempDir()
			return errors.Join(os.RemoveAll(dir), os.WriteFile(filepath.Join(other, "terraform-provider-toy_v1.0.0"), []byte("#!/bin/sh"), 0o755), os.Symlink(other, dir))
		},
		"a cache of another machine": func(t *testing.T, dir string) error {
			text, err := os.ReadFile(dir + ".json")
			if err != nil {
				return err
			}
			text = []byte(strings.Replace(string(text), `"Boot":"`, `"Boot":"another`, 1))
			return errors.Join(os.WriteFile(dir+".json", text, 0o600), os.WriteFile(filepath.Join(dir, "terraform-provider-toy_v1.0.0"), []byte("THE PROGRAM"), 0o755))
		},
		"half a record": func(t *testing.T, dir string) error { return os.Truncate(dir+".json", 20) },
	} {
		t.Run(name, func(t *testing.T) {
			r, s, p := asks(t)
			s.fine(s.from(p))
			lock, _ := s.lockfile().Get(p)
			if err := errors.Join(os.RemoveAll(s.p.DataDir), poison(t, s.p.store().of(sums(lock)[0]))); err != nil {
				t.Fatal(err)
			}
			r.Requests()
			s.fine(s.from(p))
			if asked := strings.Join(r.Requests(), "\n"); !strings.Contains(asked, ".zip") {
				t.Errorf("it is not downloaded again: %s", asked)
			}
			path, _, err := s.p.Find(p, s.lockfile())
			if err != nil {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(path); err != nil || string(text) != "the program" {
				t.Errorf("%v, %q", err, text)
			}
		})
	}
}

// TestSetuid checks that setuid and setgid bits are removed.
func TestSetuid(t *testing.T) {
	r, s, p := asks(t)
	r.Provider(t, "acme/toy", "1.0.0", map[string][]byte{Platform(): []byte(zipped(t, entry{"terraform-provider-toy_v1.0.0", "the program", os.ModeSetuid | os.ModeSetgid | 0o777}))})
	s.fine(s.from(p))
	path, _, err := s.p.Find(p, s.lockfile())
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || disktest.Modes && info.Mode() != 0o755 {
		t.Errorf("%v, %s", err, info.Mode())
	}
}

// TestProgramIsVerified checks that a program is run only if it is the verified file, even long after the verification.
func TestProgramIsVerified(t *testing.T) {
	_, s, p := asks(t)
	s.fine(s.from(p))
	l := s.lockfile()
	if err := s.p.Verify(p, l); err != nil {
		t.Fatal(err)
	}
	path, err := s.p.Program(p, l)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ text, want string }{{"the program", ""}, {"another program", "does not match any of the checksums"}} {
		if err := errors.Join(os.Remove(path), os.WriteFile(path, []byte(x.text), 0o755)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.p.Program(p, l); (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v", x.text, err)
		}
	}
}
