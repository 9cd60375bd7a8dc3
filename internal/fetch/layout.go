package fetch

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
)

// Platform is the operating system and architecture that providers are built for, such as
// "linux_amd64".
func Platform() string { return runtime.GOOS + "_" + runtime.GOARCH }

// LockName is the name of the dependency lock file.
const LockName = ".terraform.lock.hcl"

// packageDir is where a provider version lives below a providers directory.
func packageDir(base string, p addr.Provider, version string) string {
	return filepath.Join(base, p.Host, p.Namespace, p.Type, version, Platform())
}

// executable finds the provider's program in its package directory.
func executable(dir string, p addr.Provider) (string, bool) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", false
	}
	want := "terraform-provider-" + p.Type
	best := ""
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".exe")
		if e.IsDir() || name != want && !strings.HasPrefix(name, want+"_") {
			continue
		}
		if best == "" || name == want {
			best = e.Name()
		}
	}
	return filepath.Join(dir, best), best != ""
}
