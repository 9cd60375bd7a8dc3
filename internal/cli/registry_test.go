package cli_test

import (
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lethe-iac/lethe/internal/registry/registrytest"
	"github.com/rogpeppe/go-internal/testscript"
)

// registries maps the working directories of running scripts to their registries.
var registries sync.Map

// playgroundPackages returns the packages of the provider by version. All tests share these packages, because packing
// takes a second, and minutes with the race detector.
var playgroundPackages = sync.OnceValues(func() (map[string][]byte, error) {
	bin, err := playground()
	if err != nil {
		return nil, err
	}
	program, err := os.ReadFile(filepath.Join(bin, "terraform-provider-playground"+exe))
	if err != nil {
		return nil, err
	}
	packages := map[string][]byte{}
	for _, v := range []string{"1.0.0", "1.1.0"} {
		packages[v] = registrytest.Zip(map[string]string{"terraform-provider-playground_v" + v + exe: string(program), "README.md": v})
	}
	return packages, nil
})

// registryOf returns the script command that runs a registry with https and a separate certificate authority. It serves
// the provider lethe/playground and the module acme/net/test, whose package is a zip file:
//
//	registry                starts it; $REGISTRY is its host, and programs that the script runs trust it
//	registry requests FILE  writes the requests since the last call into a file
//	registry zip PATH DIR   serves the files of a directory as a zip file
//	registry buckets        serves the module in S3, as /bucket/dir/net v1.zip, for the key "AKIATEST" in region
//	                        eu-west-1; and in Google's storage, as the object dir/net.zip of bucket, for the token of
//	                        the service account with the key file $GOOGLE_KEY
//	registry oci            serves the provider as oci/lethe/playground and the module as oci/net; the user is "you",
//	                        the password "canary-0c1a"
//	registry unsigned       omits the keys of the provider from now on
//	registry locked         answers that packages are being fetched, like a cache of another registry, until
//	                        registry unlocked
//	registry login GRANT    enables the login with a browser (authz_code), with the password "open" (password) or only
//	                        with a pasted token (paste); the token is a canary, and requests for versions of a provider
//	                        need it from now on
func registryOf(t *testing.T) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		dir := ts.MkAbs(".")
		if len(args) == 0 {
			s := registrytest.New(t)
			registries.Store(dir, s)
			ts.Defer(func() { registries.Delete(dir) })
			ts.Setenv("REGISTRY", s.Host)
			ts.Setenv("SSL_CERT_FILE", s.CA)
			ts.Setenv("KEY", s.Key())
			ts.Setenv("HOME", filepath.Join(dir, ".home"))
			ts.Check(os.MkdirAll(filepath.Join(dir, ".home"), 0o755))
			ts.Check(provide(t, s))
			for _, v := range []string{"1.0.0", "1.1.0"} {
				text := "output \"version\" {\n  value = \"" + v + "\"\n}\n"
				s.Module("acme/net/test", v, s.Put("/modules/"+v+".zip", registrytest.Zip(map[string]string{"main.tf": text, "sub/main.tf": text})))
			}
			return
		}
		found, ok := registries.Load(dir)
		if !ok || neg {
			ts.Fatalf("there is no registry")
		}
		s := found.(*registrytest.Server)
		switch {
		case args[0] == "requests" && len(args) == 2:
			ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(strings.Join(append(s.Requests(), ""), "\n")), 0o644))
		case args[0] == "zip" && len(args) == 3:
			files := map[string]string{}
			ts.Check(filepath.WalkDir(ts.MkAbs(args[2]), func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				text, err := os.ReadFile(path)
				rel, _ := filepath.Rel(ts.MkAbs(args[2]), path)
				files[filepath.ToSlash(rel)] = string(text)
				return err
			}))
			s.Put(args[1], registrytest.Zip(files))
		case args[0] == "buckets" && len(args) == 1:
			zip := registrytest.Zip(map[string]string{"sub/main.tf": "output \"o\" {\n  value = 1\n}\n"})
			s.Bucket("/bucket/dir/net v1.zip", zip, "AKIATEST", "canary-"+"5ec2e7", "eu-west-1")
			file := ts.MkAbs(".google.json")
			ts.Check(s.Storage("bucket", "dir/net.zip", zip, "canary-"+"9009", file))
			ts.Setenv("GOOGLE_KEY", file)
		case args[0] == "unsigned" && len(args) == 1:
			s.Keys()
			ts.Check(provide(t, s))
		case args[0] == "oci" && len(args) == 1:
			bin, err := playground()
			ts.Check(err)
			program, err := os.ReadFile(filepath.Join(bin, "terraform-provider-playground"+exe))
			ts.Check(err)
			s.ProviderImage("oci/lethe/playground", "1.0.0", map[string][]byte{
				runtime.GOOS + "_" + runtime.GOARCH: registrytest.Zip(map[string]string{"terraform-provider-playground" + exe: string(program)}),
				"plan9_386":                         registrytest.Zip(map[string]string{"terraform-provider-playground": "plan 9"}),
			})
			s.ProviderImage("oci/lethe/playground", "1.1.0_build", map[string][]byte{"plan9_386": registrytest.Zip(map[string]string{"terraform-provider-playground": "plan 9"})})
			at := s.Image("oci/net", "v1", "application/vnd.opentofu.modulepkg", registrytest.Zip(map[string]string{"sub/main.tf": "output \"o\" {\n  value = 1\n}\n"}))
			ts.Setenv("DIGEST", at["digest"].(string))
			s.Guard("you", "canary-"+"0c1a", "canary-"+"70ce")
		case (args[0] == "locked" || args[0] == "unlocked") && len(args) == 1:
			for _, v := range []string{"1.0.0", "1.1.0"} {
				var answer http.HandlerFunc
				if args[0] == "locked" {
					answer = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusLocked) }
				}
				s.Fault("/v1/providers/lethe/playground/"+v+"/download/"+runtime.GOOS+"/"+runtime.GOARCH, answer)
			}
		case args[0] == "login" && len(args) == 2:
			token := "canary-" + "4711"
			s.Login(token, "open", slices.DeleteFunc(args[1:], func(how string) bool { return how == "paste" })...)
			s.Fault("/v1/providers/lethe/playground/versions", func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer "+token {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				io.WriteString(w, `{"versions": [{"version": "1.0.0"}]}`)
			})
		default:
			ts.Fatalf("usage: registry [requests FILE | zip PATH DIR | buckets | locked | unlocked | login GRANT | oci | unsigned]")
		}
	}
}

// provide adds the provider to a registry.
func provide(t *testing.T, s *registrytest.Server) error {
	packages, err := playgroundPackages()
	for v, zip := range packages {
		s.Provider(t, "lethe/playground", v, map[string][]byte{
			runtime.GOOS + "_" + runtime.GOARCH: zip,
			"plan9_386":                         registrytest.Zip(map[string]string{"terraform-provider-playground_v" + v: "plan 9"}),
		})
	}
	return err
}

// browser is the program xdg-open in scripts, which requests the page at an address: it returns while another process
// still loads the page.
func browser() {
	if os.Getenv("LOADS") == "" {
		page := exec.Command(os.Args[0], os.Args[1])
		page.Env = append(os.Environ(), "LOADS=1")
		if page.Start() != nil {
			os.Exit(1)
		}
		return
	}
	answer, err := http.Get(os.Args[1])
	if err != nil || answer.StatusCode != http.StatusOK {
		os.Exit(1)
	}
	io.Copy(io.Discard, answer.Body)
}

// git implements the script command `git DIR TAG`. It makes a repository of a directory, with the branch main and a
// tag. If the repository exists, the command adds a commit and moves the tag.
func git(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: git DIR TAG")
	}
	for _, line := range []string{"init -q -b main", "add -A", "commit -q -m change", "tag -f " + args[1]} {
		cmd := exec.Command("git", strings.Fields(line)...)
		cmd.Dir = ts.MkAbs(args[0])
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.test", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.test")
		if out, err := cmd.CombinedOutput(); err != nil {
			ts.Fatalf("git %s: %v\n%s", line, err, out)
		}
	}
}
