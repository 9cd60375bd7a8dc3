package fetch

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk/disktest"
	"github.com/lethe-iac/lethe/internal/download"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/lethe-iac/lethe/internal/oci"
	"github.com/lethe-iac/lethe/internal/registry"
	"github.com/lethe-iac/lethe/internal/registry/registrytest"
)

// modules returns an installer with an empty working directory, and its registry.
func modules(t *testing.T) (*registrytest.Server, *Installer) {
	t.Helper()
	s := registrytest.New(t)
	dir := t.TempDir()
	data := filepath.Join(dir, ".terraform")
	if err := os.Mkdir(data, 0o755); err != nil {
		t.Fatal(err)
	}
	return s, &Installer{
		Registry: &registry.Registry{Client: &download.Client{Transport: s.HTTP.Transport}}, Host: s.Host,
		WorkDir: dir, DataDir: data, CacheDir: t.TempDir(), Environ: os.Environ(), Lock: &Lockfile{}, Store: &Store{},
	}
}

// holds returns the text of main.tf of an installed module.
func holds(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "main.tf"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestRegistryWithoutTLS checks that a registry without TLS, which only the user's configuration can name, may name an
// archive at an address without TLS. A registry with TLS may not.
func TestRegistryWithoutTLS(t *testing.T) {
	s, m := modules(t)
	var served *httptest.Server
	served = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/versions"):
			io.WriteString(w, `{"modules": [{"versions": [{"version": "1.0.0"}]}]}`)
		case strings.HasSuffix(r.URL.Path, "/download"):
			w.Header().Set("X-Terraform-Get", served.URL+"/m.zip")
		default:
			w.Write(registrytest.Zip(map[string]string{"main.tf": "# plain"}))
		}
	}))
	defer served.Close()
	m.Registry.Hosts = map[string]map[string]string{"registry.example.com": {"modules.v1": served.URL + "/v1/"}}
	dir, _, _, err := m.Install(t.Context(), "plain", "registry.example.com/acme/net/aws", "")
	if err != nil || holds(t, dir) != "# plain" {
		t.Error(err)
	}
	s.Module("acme/net/aws", "1.0.0", served.URL+"/m.zip")
	if _, _, _, err := m.Install(t.Context(), "secure", "acme/net/aws", ""); err == nil || !strings.Contains(err.Error(), "not protected by TLS like the registry") {
		t.Error(err)
	}
}

func TestRegistryModule(t *testing.T) {
	s, m := modules(t)
	for _, v := range []string{"0.9.0", "1.0.0", "1.1.0", "2.0.0-beta"} {
		s.Module("acme/net/aws", v, s.Put("/files/"+v+".zip", registrytest.Zip(map[string]string{"main.tf": "# " + v, "sub/main.tf": "# sub " + v})))
	}
	for _, x := range []struct{ source, constraint, version, text string }{
		{"acme/net/aws", "", "1.1.0", "# 1.1.0"}, {"acme/net/aws", "~> 1.0.0", "1.0.0", "# 1.0.0"}, {"acme/net/aws//sub", "< 1.0.0", "0.9.0", "# sub 0.9.0"},
		{"acme/net/aws", "2.0.0-beta", "2.0.0-beta", "# 2.0.0-beta"}, {s.Host + "/acme/net/aws", "1.0.0", "1.0.0", "# 1.0.0"},
	} {
		dir, from, version, err := m.Install(t.Context(), "k", x.source, x.constraint)
		if err != nil || version != x.version || !strings.HasPrefix(from, s.Host+"/acme/net/aws") {
			t.Errorf("%v: %v, %s %s", x, err, from, version)
			continue
		}
		if got := holds(t, dir); got != x.text {
			t.Errorf("%v: %s", x, got)
		}
	}
	for constraint, want := range map[string]string{"> 3.0": "matches the constraint", "x": "cannot be read"} {
		if _, _, _, err := m.Install(t.Context(), "k", "acme/net/aws", constraint); err == nil || !strings.Contains(err.Error(), want) {
			t.Error(err)
		}
	}
	for _, at := range []string{"http://example.com/x.zip", "git::http://example.com/x.git", "file:///srv/x", "git::file:///srv/x.git", "git::FILE:///srv/x.git", "acme/net/aws"} {
		s.Module("acme/away/aws", "1.0.0", at)
		m.asked = nil
		if _, _, _, err := m.Install(t.Context(), "k", "acme/away/aws", ""); err == nil || !strings.Contains(err.Error(), "as the source of the module") {
			t.Errorf("%s: %v", at, err)
		}
	}
	if _, _, _, err := m.Install(t.Context(), "k", "acme/none/aws", ""); err == nil || !strings.Contains(err.Error(), "has no module") {
		t.Error(err)
	}
}

func TestArchiveModule(t *testing.T) {
	s, m := modules(t)
	zip := registrytest.Zip(map[string]string{"main.tf": "# root", "net-abc/main.tf": "# below"})
	u := s.Put("/m.zip", zip)
	s.Put("/noname", zip)
	s.Put("/page", []byte(`<html><meta name="terraform-get" content="/m.zip//net-*" /></html>`))
	s.Put("/wild.zip", registrytest.Zip(map[string]string{"a-1/main.tf": "", "a-2/main.tf": ""}))
	s.Put("/evil.zip", registrytest.Zip(map[string]string{"../../up.tf": "x"}))
	s.Put("/empty.zip", registrytest.Zip(nil))
	s.Put("/nothing", []byte("hello"))
	s.Fault("/http", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Terraform-Get", "http://example.com/m.zip")
	})
	host := "https://" + s.Host
	local := filepath.Join(t.TempDir(), "m.zip")
	if err := os.WriteFile(local, zip, 0o600); err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, zip, 0o600); err != nil {
		t.Fatal(err)
	}
	for source, want := range map[string]string{
		local: "# root", "file://" + filepath.ToSlash(local) + "//net-*": "# below", local + "//none": "error no subdirectory",
		u: "# root", u + "//net-*": "# below", host + "/noname?archive=zip": "# root", host + "/page": "# below",
		host + "/wild.zip//a-*": "error several that match", u + "//none": "error no subdirectory", host + "/evil.zip": "error leads out", host + "/empty.zip": "error the archive is empty",
		host + "/nothing": "error neither an archive", host + "/http": "error not protected", host + "/gone.zip": "error 404",
		local + "?checksum=md5:" + fmt.Sprintf("%x", md5.Sum(zip)): "# root", local + "?checksum=sha1:" + strings.Repeat("0", 40): "error should have",
		plain + "//net-*?archive=zip": "# below", plain + "?archive=zip&checksum=" + fmt.Sprintf("%x", sha512.Sum512(zip)): "# root",
		u + "?checksum=sha1:" + fmt.Sprintf("%x", sha1.Sum(zip)): "# root", u + "?checksum=SHA256:" + fmt.Sprintf("%X", sha256.Sum256(zip)): "# root",
		u + "?checksum=md5:" + strings.Repeat("0", 32): "error md5 checksum", u + "?checksum=file:" + strings.Repeat("0", 32): "error not of a supported kind",
		u + "?checksum=sha256:00": "error not of a supported kind", u + "?checksum=" + strings.Repeat("0", 64): "error should have",
	} {
		dir, _, _, err := m.Install(t.Context(), "k", source, "")
		if problem, ok := strings.CutPrefix(want, "error "); ok {
			if err == nil || !strings.Contains(err.Error(), problem) {
				t.Errorf("%s: %v", source, err)
			}
		} else if err != nil {
			t.Errorf("%s: %v", source, err)
		} else if got := holds(t, dir); got != want {
			t.Errorf("%s: %s", source, got)
		}
	}
	if _, _, _, err := m.Install(t.Context(), "k", u, "1.0"); err == nil || !strings.Contains(err.Error(), "Remove the version") {
		t.Error(err)
	}
	for _, dir := range []string{m.DataDir, filepath.Join(m.DataDir, "modules")} {
		if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	}
}

// TestKeysOfOneDirectory checks that two modules whose names differ only in case get two directories on a file system
// that ignores the case of names.
func TestKeysOfOneDirectory(t *testing.T) {
	s, m := modules(t)
	sources := map[string]string{}
	for _, key := range []string{"Net", "net", "NET"} {
		sources[key] = s.Put("/"+key+".zip", registrytest.Zip(map[string]string{"main.tf": "# " + key}))
	}
	for range 2 {
		dirs := map[string]string{}
		for _, key := range []string{"Net", "net", "NET"} {
			dir, _, _, err := m.Install(t.Context(), key, sources[key], "")
			if err != nil {
				t.Fatal(err)
			}
			dirs[key] = dir
			if want := map[string]string{"net": "net+2", "NET": "NET+3"}[key]; want != "" && filepath.Base(dir) != want {
				t.Errorf("%s is in %s", key, dir)
			}
			for _, other := range []string{"net", "NET"} { // on a file system that distinguishes case, links give all names to one directory
				_ = os.Symlink(dirs["Net"], moduleDir(m.DataDir, other))
			}
		}
		for key, dir := range dirs {
			if got := holds(t, dir); got != "# "+key {
				t.Errorf("%s in %s: %s", key, dir, got)
			}
		}
		if err := m.Remember(); err != nil {
			t.Fatal(err)
		}
		m.known, m.done = nil, nil
	}
}

func TestGitModule(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	repo := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = repo
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.test", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.test")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %s", args, out)
		}
		return strings.TrimSpace(string(out))
	}
	commit := func(text string) string {
		t.Helper()
		for name, content := range map[string]string{"main.tf": text, "sub/main.tf": "# sub"} {
			path := filepath.Join(repo, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		run("add", "-A")
		run("commit", "-qm", text)
		return run("rev-parse", "HEAD")
	}
	run("init", "-q", "-b", "main")
	first := commit("# one")
	run("tag", "v1")
	run("checkout", "-qb", "dev/x")
	commit("# dev")
	run("checkout", "-q", "main")
	commit("# two")
	_, m := modules(t)
	base := "git::file://" + filepath.ToSlash(repo)
	for query, want := range map[string]string{
		"": "# two", "?ref=v1": "# one", "?ref=dev/x": "# dev", "?ref=" + first: "# one", "?ref=" + first[:8]: "# one", "//sub?ref=v1": "# sub",
		"?ref=v1&depth=1": "# one", "?depth=1&ref=" + first: "# one", "?ref=none": "error none", "//none": "error no subdirectory",
	} {
		dir, _, _, err := m.Install(t.Context(), "k", base+query, "")
		if problem, ok := strings.CutPrefix(want, "error "); ok {
			if err == nil || !strings.Contains(err.Error(), problem) {
				t.Errorf("%s: %v", query, err)
			}
		} else if err != nil {
			t.Errorf("%s: %v", query, err)
		} else if got := holds(t, dir); got != want {
			t.Errorf("%s: %s", query, got)
		}
	}
	commit("# three")
	m.packages = nil
	if dir, _, _, err := m.Install(t.Context(), "sub", base+"//sub", ""); err != nil || strings.TrimSpace(holds(t, filepath.Dir(dir))) != "# two" {
		t.Errorf("modules of one revision are of different commits: %v", err)
	}
	m.packages, m.copies, m.named = nil, nil, nil
	if dir, _, _, err := m.Install(t.Context(), "other", base, ""); err != nil || holds(t, dir) != "# three" {
		t.Errorf("what is new is not there: %v", err)
	}
	m.packages, m.copies, m.named, m.Registry.Client.Offline = nil, nil, nil, true
	if dir, _, _, err := m.Install(t.Context(), "off", base+"?ref=v1", ""); err != nil || holds(t, dir) != "# one" {
		t.Errorf("what is on this machine is not taken: %v", err)
	}
	run("tag", "v2")
	for _, source := range []string{base + "?ref=v2", "https://" + m.Host + "/x.zip", "acme/net/aws"} {
		if _, _, _, err := m.Install(t.Context(), "off", source, ""); err == nil || !strings.Contains(err.Error(), "-offline") {
			t.Errorf("%s: %v", source, err)
		}
	}
	m.copies, m.Registry.Client.Offline = nil, false
	if err := os.Symlink("/etc", filepath.Join(repo, "out")); err != nil {
		t.Fatal(err)
	}
	commit("# link")
	m.packages, m.named = nil, nil
	var notes []string
	m.Note = func(text string) { notes = append(notes, text) }
	dir, _, _, err := m.Install(t.Context(), "k", base, "")
	if err != nil || holds(t, dir) != "# link" || !slices.ContainsFunc(notes, func(s string) bool {
		return strings.Contains(s, `Left out symbolic links that lead out of the package or in a circle: "out"`)
	}) {
		t.Errorf("a link out of the repository: %v, %q", err, notes)
	}
	if _, err := os.Lstat(filepath.Join(dir, "out")); err == nil {
		t.Error("a link out of the repository is there")
	}
	if _, _, _, err := m.Install(t.Context(), "k", "git::https://user:canary-password@localhost:1/x.git", ""); err == nil || strings.Contains(err.Error(), "canary") {
		t.Error(err)
	}
}

func TestSubmodules(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	top := t.TempDir()
	run := func(dir string, args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "protocol.file.allow=always"}, args...)...)
		cmd.Dir = filepath.Join(top, dir)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.test", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.test")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %s", args, out)
		}
	}
	for i, dir := range []string{"c", "b", "a"} {
		run(".", "init", "-q", "-b", "main", dir)
		if err := os.WriteFile(filepath.Join(top, dir, "main.tf"), []byte("# "+dir), 0o644); err != nil {
			t.Fatal(err)
		}
		run(dir, "add", "-A")
		if i > 0 {
			run(dir, "submodule", "add", "-q", "../"+[]string{"c", "b"}[i-1], "mod/in")
		}
		run(dir, "commit", "-qm", "x")
	}
	_, m := modules(t)
	source := "git::file://" + filepath.ToSlash(top) + "/a//mod/in"
	if _, _, _, err := m.Install(t.Context(), "k", source, ""); err == nil || !strings.Contains(err.Error(), "protocol.file.allow") {
		t.Errorf("a repository may name others on this machine: %v", err)
	}
	m.Environ = append(os.Environ(), "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=protocol.file.allow", "GIT_CONFIG_VALUE_0=always")
	m.copies = nil
	dir, _, _, err := m.Install(t.Context(), "k", source, "")
	if err != nil || holds(t, dir) != "# b" || holds(t, filepath.Join(dir, "mod/in")) != "# c" {
		t.Fatal(err)
	}
	for _, x := range []struct{ base, address, want string }{
		{"https://h/x/y.git", "../z.git", "https://h/x/z.git"}, {"https://h/x/y", "../../z", "https://h/z"}, {"https://h/x/y/", "./z", "https://h/x/y/z"},
		{"git@h:x/y", "../z", "git@h:x/z"}, {"https://h/x", "ssh://other/y", "ssh://other/y"},
	} {
		if got := beside(x.base, x.address); got != x.want {
			t.Errorf("%s beside %s: %s", x.address, x.base, got)
		}
	}
}

// TestOneFetch checks that fifty modules of one repository, at ten tags and in five directories, need one fetch, even
// if they are locked.
func TestOneFetch(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	repo := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = repo
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.test", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.test")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %s", args, out)
		}
	}
	run("init", "-q", "-b", "main")
	for i := range 10 {
		for j := range 5 {
			dir := filepath.Join(repo, fmt.Sprint("m", j))
			if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "main.tf"), fmt.Appendf(nil, "# %d %d", i, j), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		run("add", "-A")
		run("commit", "-qm", "x")
		run("tag", fmt.Sprint("v", i))
	}
	_, m := modules(t)
	m.Lock, _ = ReadLockfile(m.WorkDir, limits.Limits{}, &diag.Sources{}, &diag.Bag{})
	for _, locked := range []bool{false, true} {
		trace := filepath.Join(t.TempDir(), "trace")
		m.Environ = append(os.Environ(), "GIT_TRACE="+trace)
		for i := range 10 {
			for j := range 5 {
				dir, _, _, err := m.Install(t.Context(), fmt.Sprintf("m%d%d", i, j), fmt.Sprintf("git::file://%s//m%d?ref=v%d", filepath.ToSlash(repo), j, i), "")
				if err != nil || holds(t, dir) != fmt.Sprintf("# %d %d", i, j) {
					t.Fatal(err)
				}
			}
		}
		text, err := os.ReadFile(trace)
		if n := strings.Count(string(text), "built-in: git upload-pack"); err != nil || n != 1 {
			t.Errorf("locked %v: %d fetches: %v\n%s", locked, n, err, text)
		}
		m.Lock.SetModules(m.Locks())
		if len(m.Locks()) != 10 {
			t.Errorf("%d packages are locked", len(m.Locks()))
		}
		m.packages, m.copies, m.named, m.known = nil, nil, nil, Modules{}
	}
}

// TestDamagedManifest checks that a damaged list of installed modules is ignored and replaced.
func TestDamagedManifest(t *testing.T) {
	s, m := modules(t)
	u := s.Put("/m.zip", registrytest.Zip(map[string]string{"main.tf": "# it"}))
	for _, text := range []string{"", "{", "[]", "null", `{"Modules":[{"Key":7}]}`, `{"Modules":[{"Key":"k","Source":"` + u + `","Dir":"../../up"}]}`} {
		path := manifestPath(m.DataDir)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
		m.known, m.packages, m.named = nil, nil, nil
		if dir, _, _, err := m.Install(t.Context(), "k", u, ""); err != nil || holds(t, dir) != "# it" {
			t.Errorf("%q: %v", text, err)
		}
		if err := m.Remember(); err != nil || len(readManifest(path)) < 2 {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestPackagesAreTheSameEverywhere checks that a package contains all committed files unchanged, including files that
// are not part of releases, with any configuration of git.
func TestPackagesAreTheSameEverywhere(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	repo := t.TempDir()
	for name, text := range map[string]string{"main.tf": "# $Format:%H$\n", "part/main.tf": "# part\n", ".gitattributes": "part export-ignore\n*.tf export-subst text=auto\n"} {
		path := filepath.Join(repo, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range []string{"init -q -b main", "add -A", "commit -qm x"} {
		cmd := exec.Command("git", strings.Fields(args)...)
		cmd.Dir = repo
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.test", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.test")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %s", args, out)
		}
	}
	config := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(config, []byte("[core]\n  autocrlf = true\n  eol = crlf\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var hashes []string
	for _, global := range []string{"/dev/null", config} {
		_, m := modules(t)
		m.Environ = append(os.Environ(), "GIT_CONFIG_GLOBAL="+global)
		dir, _, _, err := m.Install(t.Context(), "k", "git::file://"+filepath.ToSlash(repo), "")
		if err != nil || holds(t, dir) != "# $Format:%H$\n" || holds(t, filepath.Join(dir, "part")) != "# part\n" {
			t.Fatal(err)
		}
		hashes = append(hashes, m.Locks()[0].Hash)
		// A clone by git, as Terraform and OpenTofu create it, is the same package.
		clone := filepath.Join(t.TempDir(), "clone")
		if out, err := exec.Command("git", "clone", "-q", repo, clone).CombinedOutput(); err != nil {
			t.Fatalf("%s", out)
		}
		list, err := checkoutSummary(clone)
		if err != nil || hashOf(list) != hashes[0] {
			t.Errorf("a clone is %s, %v\n%s", hashOf(list), err, list)
		}
	}
	if hashes[0] != hashes[1] {
		t.Errorf("%q", hashes)
	}
}

// TestHashIsTheOneOfProviders checks that the hash of a package without links is equal to the hash of dirhash, which
// defined "h1:".
func TestHashIsTheOneOfProviders(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"main.tf", "main.tf.json", "a/b", "a.b", "a b", ".x", "ü"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(name), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := hashDir(dir)
	list, err1 := summary(dir)
	if err := errors.Join(err, err1); err != nil || hashOf(list) != want {
		t.Errorf("%s is %s, %v", hashOf(list), want, err)
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, ".git"), 0o755), os.WriteFile(filepath.Join(dir, ".git", "HEAD"), nil, 0o644), os.WriteFile(filepath.Join(dir, "a", ".git"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if list, err := summary(dir); err != nil || hashOf(list) == want {
		t.Errorf("files in a directory called .git do not count: %v", err)
	}
	if err := errors.Join(os.RemoveAll(filepath.Join(dir, ".git")), os.Remove(filepath.Join(dir, "a", ".git"))); err != nil {
		t.Fatal(err)
	}
	disktest.NeedLinks(t)
	if err := os.Symlink("b", filepath.Join(dir, "a", "link")); err != nil {
		t.Fatal(err)
	}
	first, err := summary(dir)
	if err != nil || hashOf(first) == want {
		t.Error("a link does not count")
	}
	if err := errors.Join(os.Remove(filepath.Join(dir, "a", "link")), os.Symlink("../main.tf", filepath.Join(dir, "a", "link"))); err != nil {
		t.Fatal(err)
	}
	if second, _ := summary(dir); second == first {
		t.Error("where a link leads does not count")
	}
}

// TestImageModule checks that a tag of an OCI registry may not move, and that a source without a tag may.
func TestImageModule(t *testing.T) {
	s, m := modules(t)
	m.OCI = &oci.Client{Transport: s.HTTP.Transport}
	m.Lock, _ = ReadLockfile(m.WorkDir, limits.Limits{}, &diag.Sources{}, &diag.Bag{})
	put := func(text string) string {
		t.Helper()
		zip := registrytest.Zip(map[string]string{"main.tf": text})
		s.Image("net", "latest", "application/vnd.opentofu.modulepkg", zip)
		return s.Image("net", "v1", "application/vnd.opentofu.modulepkg", zip)["digest"].(string)
	}
	install := func(query string) (string, error) {
		m.packages, m.named, m.known = nil, nil, Modules{}
		dir, _, _, err := m.Install(t.Context(), "k", "oci://"+s.Host+"/net"+query, "")
		if err != nil {
			return "", err
		}
		m.Lock.SetModules(append(m.Lock.Modules(), m.Locks()...))
		return holds(t, dir), nil
	}
	first := put("# one")
	for _, query := range []string{"", "?tag=v1", "?digest=" + first} {
		if got, err := install(query); err != nil || got != "# one" {
			t.Error(query, err)
		}
	}
	second := put("# two")
	for _, query := range []string{"", "?digest=" + first} {
		if got, err := install(query); err != nil || got != "# one" {
			t.Error(query, err)
		}
	}
	_, err := install("?tag=v1")
	if err == nil || !errors.As(err, new(*ChangedError)) || !strings.Contains(err.Error(), first) || !strings.Contains(err.Error(), second) {
		t.Error(err)
	}
	m.Upgrade = true
	for _, query := range []string{"", "?tag=v1"} {
		if got, err := install(query); err != nil || got != "# two" {
			t.Error(query, err)
		}
	}
}

// TestLockedVersions checks that each of two calls of one module has its requested version, and that a new call uses a
// locked version.
func TestLockedVersions(t *testing.T) {
	s, m := modules(t)
	put := func(v string) {
		s.Module("acme/net/aws", v, s.Put("/files/"+v+".zip", registrytest.Zip(map[string]string{"x/main.tf": "# " + v}))+"//x")
	}
	put("1.0.0")
	put("1.1.0")
	m.Lock, _ = ReadLockfile(m.WorkDir, limits.Limits{}, &diag.Sources{}, &diag.Bag{})
	install := func(key, constraint string) string {
		t.Helper()
		dir, _, version, err := m.Install(t.Context(), key, "acme/net/aws", constraint)
		if err != nil || holds(t, dir) != "# "+version {
			t.Fatal(err)
		}
		return version
	}
	next := func() {
		m.Lock.SetModules(m.Locks())
		if err := m.Lock.Write(); err != nil {
			t.Fatal(err)
		}
		m.Lock, _ = ReadLockfile(m.WorkDir, limits.Limits{}, &diag.Sources{}, &diag.Bag{})
		m.packages, m.named, m.known, m.asked = nil, nil, Modules{}, nil
	}
	if a, b := install("a", "~> 1.0"), install("b", "< 1.1"); a != "1.1.0" || b != "1.0.0" {
		t.Error(a, b)
	}
	next()
	put("1.2.0")
	if a, b, c, d := install("a", "~> 1.0"), install("b", "< 1.1"), install("c", ">= 1.0"), install("d", ">= 1.2"); a != "1.1.0" || b != "1.0.0" || c != "1.1.0" || d != "1.2.0" {
		t.Error(a, b, c, d)
	}
	next()
	if a, e := install("a", "~>1.0"), install("e", ""); a != "1.1.0" || e != "1.2.0" {
		t.Error(a, e)
	}
	next()
	m.Upgrade = true
	if a := install("a", "~> 1.0"); a != "1.2.0" {
		t.Error(a)
	}
}
