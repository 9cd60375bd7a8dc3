package clients

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/registry/registrytest"
	"github.com/lethe-iac/lethe/test/providers/source"
)

var execModule = source.Module{Path: "github.com/hashicorp/terraform-exec", Version: "v0.26.0"}

// leftOut lists the tests of terraform-exec's own suite that fail with Lethe, each with its reason. A test that passes
// must be removed from the list.
var leftOut = map[string]string{
	"TestShow_noInitLocalBackendNonDefaultState": "wants an error without init: no backend needs it here, where there was no other before",
}

// registryNamed lists tests that expect Terraform's registry host in documents, or as a directory of a mirror. New
// providers have that host only if the program is called by Terraform's name.
var registryNamed = []string{
	"TestProvidersSchema/0_basic", "TestShowBigInt", "TestShowFloat64", "TestShowStateFileBigInt",
	"TestShowStateFileFloat64", "TestShowPlanFileBigInt", "TestShowPlanFileFloat64", "TestProvidersMirror",
}

// TestExecSuite runs the end-to-end tests of terraform-exec unchanged, under the program's own name and under
// Terraform's.
func TestExecSuite(t *testing.T) {
	base, err := dir()
	must(t, "a directory", err)
	src, err := execModule.Copy(base)
	must(t, "copying", err)
	tests := filepath.Join(base, "e2e.test")
	must(t, "building", source.Go(src, "test", "-c", "-o", tests, "./tfexec/internal/e2etest"))
	home := execHome(t)
	asked := execRegistry(t, home)
	for _, name := range []string{"lethe", "terraform"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := filepath.Join(t.TempDir(), name)
			must(t, "linking", os.Symlink(binary(t, lethe), program))
			cmd := exec.Command(tests, "-test.v", "-test.timeout=10m")
			cmd.Dir = filepath.Join(src, "tfexec/internal/e2etest")
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + t.TempDir(), "CHECKPOINT_DISABLE=1", "TFEXEC_E2ETEST_TERRAFORM_PATH=" + program, "SSL_CERT_FILE=" + asked.CA}
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			expected := maps.Clone(leftOut)
			if name == "lethe" {
				for _, one := range registryNamed {
					expected[one] = "wants Terraform's registry host"
				}
			}
			judge(t, out, expected)
		})
	}
}

// execHome returns a home directory with the providers of the suite, in the requested versions, in the default place
// for mirrors.
func execHome(t *testing.T) string {
	home := t.TempDir()
	for _, p := range []struct {
		name, version string
		program       func() (string, error)
	}{{"null", "3.1.0", nullProvider}, {"null", "3.0.0", nullProvider}, {"random", "3.1.3", randomProvider}, {"time", "0.14.2", timeProvider}} {
		mirror := filepath.Join(home, ".terraform.d/plugins", terraformHost, "hashicorp", p.name, p.version, runtime.GOOS+"_"+runtime.GOARCH)
		must(t, "making", os.MkdirAll(mirror, 0o755))
		must(t, "linking", os.Symlink(binary(t, p.program), filepath.Join(mirror, "terraform-provider-"+p.name+"_v"+p.version)))
	}
	return home
}

// execRegistry starts a registry with the provider that the suite locks and mirrors. The CLI configuration in home
// names it in place of the registries of Terraform and OpenTofu.
func execRegistry(t *testing.T, home string) *registrytest.Server {
	s := registrytest.New(t)
	program, err := os.ReadFile(binary(t, nullProvider))
	must(t, "reading", err)
	s.Provider(t, "hashicorp/null", "3.1.0", map[string][]byte{runtime.GOOS + "_" + runtime.GOARCH: registrytest.Zip(map[string]string{"terraform-provider-null_v3.1.0": string(program)})})
	rc := ""
	for _, host := range []string{terraformHost, "registry.opentofu.org"} {
		rc += fmt.Sprintf("host %q {\n  services = {\n    \"providers.v1\" = \"https://%s/v1/providers/\"\n  }\n}\n", host, s.Host)
	}
	must(t, "writing", os.WriteFile(filepath.Join(home, ".terraformrc"), []byte(rc), 0o600))
	return s
}

var (
	verdict = regexp.MustCompile(`(?m)^ *--- (PASS|FAIL): (\S+)`)
	version = regexp.MustCompile(`/[\w.]*-\d+\.\d+\.\d+(#\d+)?$`)
)

// judge compares the failed tests in the output of a suite with the expected failures, which map the name of a test to
// the reason. It also checks that at least 40 tests passed. Names are without the version of the program.
func judge(t *testing.T, out []byte, expected map[string]string) {
	t.Helper()
	failed, passed := map[string]bool{}, 0
	for _, m := range verdict.FindAllSubmatch(out, -1) {
		switch name := string(m[2]); {
		case string(m[1]) == "FAIL":
			failed[version.ReplaceAllString(name, "")] = true
		case version.MatchString(name):
			passed++
		}
	}
	for name := range failed {
		inside := slices.ContainsFunc(slices.Collect(maps.Keys(failed)), func(o string) bool { return strings.HasPrefix(o, name+"/") })
		if _, known := expected[name]; !known && !inside {
			t.Errorf("%s failed:\n%s", name, said(out, name))
		}
	}
	for name, why := range expected {
		if !failed[name] {
			t.Errorf("%s passes: take it off the list (%s)", name, why)
		}
	}
	if passed < 40 {
		t.Errorf("only %d tests passed", passed)
	}
	t.Logf("%d passed, %d left out", passed, len(expected))
}

// said returns the output of a failed top-level test. name is the name of this test or of a test inside it.
func said(out []byte, name string) []byte {
	top, _, _ := strings.Cut(name, "/")
	_, rest, _ := bytes.Cut(out, []byte("=== RUN   "+top+"\n"))
	text, _, _ := bytes.Cut(rest, []byte("--- FAIL: "+top+" "))
	return text
}
