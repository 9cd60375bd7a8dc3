package install

import (
	"bytes"
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
	const inits = 50
	w := newWorld(t, 5, 100_000, 0)
	mirror := t.TempDir()
	w.user().run(w.dir, w.lethe, "init")
	w.user().run(w.dir, w.lethe, "providers", "mirror", mirror)
	for _, x := range []struct {
		name, settings string
		downloads      int // of each package
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
					for _, args := range [][]string{{"init"}, {"validate"}} {
						cmd := exec.Command(u.lethe, args...)
						cmd.Dir = dir
						cmd.Env = []string{"HOME=" + u.home, "SSL_CERT_FILE=" + u.CA, "PATH=" + os.Getenv("PATH")}
						var out bytes.Buffer
						cmd.Stdout, cmd.Stderr = &out, &out
						if err := cmd.Run(); err != nil {
							t.Errorf("%d: %v: %s", i, err, &out)
							return
						}
						if args[0] == "init" && strings.Count(out.String(), "- Installed ") != w.n {
							t.Errorf("%d: %s", i, &out)
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
