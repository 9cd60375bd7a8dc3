package install

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestManyAtOnce runs init fifty times at once, for one user whose stores are all empty. All succeed, and each package
// is downloaded once.
func TestManyAtOnce(t *testing.T) {
	const inits, size = 50, 100_000
	w := newWorld(t, 5, size, 0)
	mirror := t.TempDir()
	w.user().run(w.dir, w.lethe, "init")
	w.user().run(w.dir, w.lethe, "providers", "mirror", mirror)
	for _, x := range []struct {
		name, settings string
		downloads      int // number of downloads of each package
	}{
		{"the user's cache", "", 1},
		{"a plugin cache", "plugin_cache_dir = \"CACHE\"\n", 1},
		{"a mirror", "provider_installation {\n  filesystem_mirror {\n    path = \"" + mirror + "\"\n  }\n}\n", 0},
		{"a mirror and a plugin cache", "plugin_cache_dir = \"CACHE\"\nprovider_installation {\n  filesystem_mirror {\n    path = \"" + mirror + "\"\n  }\n}\n", 0},
		{"a network mirror", "provider_installation {\n  network_mirror {\n    url = \"https://" + w.Host + "/mirror/\"\n  }\n}\n", 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			w := *w
			w.T = t
			u := w.user()
			write(t, filepath.Join(u.home, ".terraformrc"), strings.ReplaceAll(x.settings, "CACHE", t.TempDir()))
			w.Requests()
			var all sync.WaitGroup
			for i := range inits {
				dir := u.directory()
				os.Remove(filepath.Join(dir, ".terraform.lock.hcl"))
				os.RemoveAll(filepath.Join(dir, ".terraform"))
				all.Go(func() {
					cmd := exec.Command(u.lethe, "init")
					cmd.Dir = dir
					cmd.Env = []string{"HOME=" + u.home, "SSL_CERT_FILE=" + u.CA, "PATH=" + os.Getenv("PATH")}
					out, err := cmd.CombinedOutput()
					programs, _ := filepath.Glob(filepath.Join(dir, ".terraform/providers/*/acme/*/1.0.0/*/terraform-provider-*"))
					if err != nil || strings.Count(string(out), "- Installed ") != w.n || len(programs) != w.n {
						t.Errorf("%d: %v, %q: %s", i, err, programs, out)
					}
					for _, p := range programs {
						if info, err := os.Stat(p); err != nil || info.Size() != size {
							t.Errorf("%d: %v, %s", i, err, p)
						}
					}
				})
			}
			all.Wait()
			seen := map[string]int{}
			for _, name := range w.downloads() {
				seen[name]++
			}
			for i := range w.n {
				name := fmt.Sprintf("p%02d", i)
				n := 0
				for file, times := range seen {
					if strings.Contains(file, "-"+name+"_") {
						n += times
					}
				}
				if n != x.downloads {
					t.Errorf("the package of %s was downloaded %d times", name, n)
				}
			}
		})
	}
}
