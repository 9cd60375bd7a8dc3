package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// The provider that nobody here wrote, and the version that its own tests upgrade from.
const (
	timeModule  = "github.com/hashicorp/terraform-provider-time"
	timeVersion = "v0.14.2"
	timeBefore  = "0.8.0"
)

// TestTimeProvider runs the acceptance tests of terraform-provider-time as its authors wrote them,
// from a copy of the module that the Go proxy has, in an environment without any setting but where
// the program is.
//
// Its upgrade tests install version 0.8.0 from the registry. That version is on no Go proxy and
// there is no registry here, so a mirror in the home directory, where such mirrors are looked for
// by default, offers the program of 0.14.2 under that number: what is left of these tests is that
// a provider of a given version is found, installed, locked, used and then replaced by one that
// runs already.
func TestTimeProvider(t *testing.T) {
	t.Parallel()
	bin := binary(t, lethe)
	src, err := timeSource()
	if err != nil {
		t.Fatal(err)
	}
	tests := filepath.Join(t.TempDir(), "time.test")
	must(t, "building", goRun(src, "test", "-c", "-o", tests, "./internal/provider"))
	home := t.TempDir()
	mirror := filepath.Join(home, ".terraform.d/plugins/registry.terraform.io/hashicorp/time", timeBefore, runtime.GOOS+"_"+runtime.GOARCH)
	must(t, "making", os.MkdirAll(mirror, 0o755))
	must(t, "linking", os.Symlink(binary(t, timeProvider), filepath.Join(mirror, "terraform-provider-time_v"+timeBefore)))

	cmd := exec.Command(tests, "-test.v", "-test.timeout=15m")
	cmd.Dir = filepath.Join(src, "internal/provider")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TF_ACC=1", "TF_ACC_TERRAFORM_PATH=" + bin}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	passed := len(regexp.MustCompile(`(?m)^--- PASS`).FindAll(out, -1))
	if err != nil || bytes.Contains(out, []byte("--- SKIP")) || passed < 50 {
		t.Errorf("%d passed, %v:\n%s", passed, err, withoutPassed(string(out)))
	}
}

// timeSource is a copy of the provider's source that may be worked in.
var timeSource = sync.OnceValues(func() (string, error) {
	base, err := dir()
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "mod", "download", "-json", timeModule+"@"+timeVersion)
	cmd.Dir = base // outside of any module, so that nobody's go.sum changes
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := cmd.Output()
	var module struct{ Dir, Error string }
	if jerr := json.Unmarshal(out, &module); err != nil || jerr != nil {
		return "", fmt.Errorf("downloading %s: %v %v %s", timeModule, err, jerr, module.Error)
	}
	dst := filepath.Join(base, "time")
	if err := os.CopyFS(dst, os.DirFS(module.Dir)); err != nil {
		return "", err
	}
	return dst, filepath.WalkDir(dst, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			err = os.Chmod(path, 0o755)
		}
		return err
	})
})

// timeProvider builds the provider, once.
var timeProvider = sync.OnceValues(func() (string, error) {
	src, err := timeSource()
	if err != nil {
		return "", err
	}
	path := filepath.Join(filepath.Dir(src), "terraform-provider-time")
	return path, goRun(src, "build", "-o", path, ".")
})

// goRun runs the go command in a module.
func goRun(dir string, args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// withoutPassed leaves out of a test's output what went well.
func withoutPassed(out string) string {
	var kept []string
	for _, line := range strings.Split(out, "\n") {
		if !regexp.MustCompile(`^(=== |--- PASS|PASS)`).MatchString(line) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}
