package install

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestSpeed installs providers from a distant registry: all of them, then in a second directory, and then with
// everything installed. If Terraform is on PATH, it must take at least four times as long. With LETHE_LONG packages
// have 50 MB, otherwise 1 MB. Absolute wall times have limits only with LETHE_LONG, because a machine that does other
// work exceeds them.
func TestSpeed(t *testing.T) {
	long := os.Getenv("LETHE_LONG") != ""
	size, rate := 1<<20, 0
	if long {
		size, rate = 50<<20, 5<<20
	}
	w := newWorld(t, 20, size, rate)
	u := w.user()
	first, second := u.directory(), u.directory()
	w.Requests()
	cold := u.run(first, w.lethe, "init")
	w.once()
	other := u.run(second, w.lethe, "init")
	there := u.run(first, w.lethe, "init")
	if n := len(w.downloads()); n > 0 {
		t.Errorf("%d packages were downloaded again", n)
	}
	if there.cpu > 60*time.Millisecond {
		t.Errorf("init where everything is there took %s", there)
	}
	if cold.memory > 64<<20 {
		t.Errorf("installing took %s", cold)
	}
	if long {
		least := w.least()
		t.Logf("the slowest download needs %.2f s; installing took %.2f of that, a second directory %.3f of installing", least.Seconds(), cold.wall.Seconds()/least.Seconds(), other.wall.Seconds()/cold.wall.Seconds())
		if cold.wall > least*12/10 || other.wall > cold.wall/10 {
			t.Error("that is too long")
		}
	}
	if w.terraform == "" {
		t.Skip("there is no terraform to compare with")
	}
	peer := w.user()
	dir := peer.directory()
	theirs := peer.run(dir, w.terraform, "init")
	if long {
		peer.run(dir, w.terraform, "init")
	}
	ratio := theirs.wall.Seconds() / cold.wall.Seconds()
	t.Logf("terraform takes %.1f times as long", ratio)
	if ratio < 4 {
		t.Errorf("terraform takes only %.1f times as long", ratio)
	}
}

// least returns the duration of the slowest download, if a client downloads all packages at the same time, each on a
// separate connection, and ignores their content.
func (w *world) least() time.Duration {
	transport := w.HTTP.Transport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = -1
	client := &http.Client{Transport: transport}
	var all sync.WaitGroup
	began := time.Now()
	for i := range w.n {
		all.Go(func() {
			name := fmt.Sprintf("p%02d", i)
			resp, err := client.Get("https://" + w.Host + "/files/acme/" + name + "/1.0.0/terraform-provider-" + name + "_1.0.0_" + runtime.GOOS + "_" + runtime.GOARCH + ".zip")
			if err == nil {
				_, err = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			if err != nil {
				w.Error(err)
			}
		})
	}
	all.Wait()
	return time.Since(began)
}

// downloads returns the file names of the packages that were requested since the last call.
func (w *world) downloads() []string {
	var out []string
	for _, line := range w.Requests() {
		if strings.HasSuffix(line, ".zip") {
			out = append(out, filepath.Base(line))
		}
	}
	return out
}

// once fails the test unless each package was requested once since the last call of downloads.
func (w *world) once() {
	w.Helper()
	all := w.downloads()
	seen := map[string]int{}
	for _, name := range all {
		seen[name]++
	}
	if len(all) != w.n || len(seen) != w.n {
		w.Errorf("%d downloads of %d packages: %v", len(all), len(seen), seen)
	}
}
