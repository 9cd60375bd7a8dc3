package fetch

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-version"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/config/lockfile"
	"github.com/lethe-iac/lethe/internal/disk/disktest"

	"github.com/lethe-iac/lethe/internal/registry/registrytest"
)

// TestLockCoversEveryFile checks that the lock covers all files of an archive, including files in directories called
// .git, because such a directory can contain a module.
func TestLockCoversEveryFile(t *testing.T) {
	s, m := modules(t)
	files := map[string]string{"main.tf": "# root", ".git/x/main.tf": "# one", ".git/HEAD": "ref: refs/heads/main", ".git/refs/heads/main": strings.Repeat("a", 40), ".git/objects/x": ""}
	u := s.Put("/m.zip", registrytest.Zip(files))
	if _, _, _, err := m.Install(t.Context(), "k", u, ""); err != nil {
		t.Fatal(err)
	}
	m.Lock.modules = map[moduleName]lockfile.Module{}
	m.Lock.SetModules(m.Locks())
	files[".git/x/main.tf"] = "# two"
	s.Put("/m.zip", registrytest.Zip(files))
	again := &Installer{Registry: m.Registry, Host: m.Host, WorkDir: m.WorkDir, DataDir: filepath.Join(t.TempDir(), ".terraform"), Environ: m.Environ, Lock: m.Lock, Store: m.Store}
	if err := os.Mkdir(again.DataDir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := again.Install(t.Context(), "k", u, ""); !errors.As(err, new(*ChangedError)) {
		t.Errorf("a changed file in .git: %v", err)
	}
	// The files in the working directory are compared in the same way.
	if err := m.Remember(); err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(m.DataDir, "modules", "k")
	if err := os.WriteFile(filepath.Join(base, ".git/x/main.tf"), []byte("# three"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := m.unchanged(base, m.Locks()[0].Hash); err == nil {
		t.Error("an installed module counts as unchanged, with another file in .git")
	}
}

// TestConfigurationAddedToModule checks that an installed module with another file counts as changed if the file is
// configuration, with any suffix that Lethe reads, and as unchanged otherwise.
func TestConfigurationAddedToModule(t *testing.T) {
	s, m := modules(t)
	if _, _, _, err := m.Install(t.Context(), "k", s.Put("/m.zip", registrytest.Zip(map[string]string{"main.tf": "# root"})), ""); err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(m.DataDir, "modules", "k")
	for _, suffix := range append(config.Suffixes(), ".zip", ".tfvars") {
		added := filepath.Join(base, "more"+suffix)
		if err := os.WriteFile(added, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := m.unchanged(base, m.Locks()[0].Hash)
		if is := slices.Contains(config.Suffixes(), suffix); is != (err != nil) {
			t.Errorf("%s: %v", suffix, err)
		}
		if err := os.Remove(added); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCheckoutOfPeer checks that in a clone by Terraform or OpenTofu, git's own files are not part of the package.
func TestCheckoutOfPeer(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	git := gitIn(t)
	git(dir, "init", "-q", "-b", "main", "r")
	write(t, filepath.Join(dir, "r", "main.tf"), "# it")
	git(filepath.Join(dir, "r"), "add", "-A")
	git(filepath.Join(dir, "r"), "commit", "-qm", "x")
	git(dir, "clone", "-q", "r", "clone")
	clone := filepath.Join(dir, "clone")
	_, m := modules(t)
	hash, err := m.unchanged(clone, "")
	want := t.TempDir()
	write(t, filepath.Join(want, "main.tf"), "# it")
	if plain, _ := summary(want); err != nil || hash != hashOf(plain) {
		t.Errorf("%s, %v", hash, err)
	}
	if commit, _ := m.recall(hash); commit != git(clone, "rev-parse", "HEAD") {
		t.Errorf("the commit is %q", commit)
	}
	git(clone, "pack-refs", "--all")
	if commitIn(clone) != git(clone, "rev-parse", "HEAD") {
		t.Error("a packed reference is not found")
	}
	if _, err := m.unchanged(clone, hash); err != nil {
		t.Error(err)
	}
	write(t, filepath.Join(clone, ".git", "x", "main.tf"), "# hidden")
	if other, err := m.unchanged(clone, ""); err != nil || other == hash {
		t.Errorf("configuration in .git does not count: %v", err)
	}
}

// TestStalePluginCache checks a plugin cache with a package from another directory. If the lock file has no checksum,
// the package is used only if it is equal to the package of the source.
func TestStalePluginCache(t *testing.T) {
	for name, put := range map[string]func(s *stage, content string){
		"archive":   func(s *stage, content string) { s.addPackage(s.mirror, acme.Host, "1.0.0", content) },
		"directory": func(s *stage, content string) { s.unpacked(s.mirror, acme.Host, "1.0.0", content) },
	} {
		t.Run(name, func(t *testing.T) {
			cache := t.TempDir()
			s := newStage(t)
			s.p.CacheDir = cache
			s.write(filepath.Join(packageDir(cache, acme, "1.0.0"), "terraform-provider-toy_v1.0.0"), "altered")
			put(s, "the program")
			s.fine(s.install(false))
			s.wants("1.0.0", "the program")
			want := newStage(t)
			put(want, "the program")
			want.fine(want.install(false))
			if got := s.lockfile().Bytes(); !bytes.Equal(got, want.lockfile().Bytes()) {
				t.Errorf("the lock file has\n%s", got)
			}
		})
	}
}

// TestOnlyArchivesAreLocked checks a lock file with only the checksum of an archive, as written for another platform.
func TestOnlyArchivesAreLocked(t *testing.T) {
	for _, cached := range []bool{false, true} {
		s := newStage(t)
		if cached {
			s.p.CacheDir = t.TempDir()
		}
		s.addPackage(s.mirror, acme.Host, "1.0.0", "the program")
		zh, err := hashZip(filepath.Join(s.mirror, acme.Host, "acme/toy", "terraform-provider-toy_1.0.0_"+Platform()+".zip"))
		if err != nil {
			t.Fatal(err)
		}
		lock := func(hashes ...string) {
			s.write(filepath.Join(s.dir, LockName), fmt.Sprintf("provider %q {\n  version = \"1.0.0\"\n  hashes = [\"%s\"]\n}\n", acme, strings.Join(hashes, `", "`)))
		}
		// A package in the directory is not trusted.
		program := filepath.Join(packageDir(s.p.base(), acme, "1.0.0"), "terraform-provider-toy_v1.0.0")
		lock("zh:" + strings.Repeat("0", 63) + "1")
		s.write(program, "planted")
		if err := s.p.Verify(acme, s.lockfile()); err == nil || !strings.Contains(err.Error(), "does not match any of the checksums") {
			t.Errorf("a program of which nothing is known: %v", err)
		}
		lock(zh, "h1:"+strings.Repeat("A", 43)+"=") // the second checksum is for another platform
		if err := s.p.Verify(acme, s.lockfile()); err == nil {
			t.Error("a program is not verified where another platform's checksum is locked")
		}
		// The package of the archive is installed, and is recognized although its hash is not in the lock file.
		locked := s.lockfile()
		s.fine(s.install(false))
		s.wants("1.0.0", "the program")
		if err := s.p.Verify(acme, locked); err != nil {
			t.Error(err)
		}
		if s.p.Link([]Need{{Provider: acme}}, locked); !s.p.present(acme, must(locked.Get(acme))) {
			t.Error("it is not there for an init that writes no lock file")
		}
		// The next init that may write the lock file adds the hash of the package.
		lock(zh)
		s.fine(s.install(false))
		if got, _ := s.lockfile().Get(acme); len(got.Hashes) != 2 {
			t.Errorf("the lock file has %q", got.Hashes)
		}
		real, err := filepath.EvalSymlinks(program)
		if err != nil {
			t.Fatal(err)
		}
		write(t, real, "altered")
		if err := s.p.Verify(acme, locked); err == nil {
			t.Error("an altered program is the one of the archive")
		}
	}
}

func must[T any](x T, _ bool) T { return x }

// TestChecksumOfPage checks that a checksum in the address of a page is an error, because no archive is compared with
// it.
func TestChecksumOfPage(t *testing.T) {
	s, m := modules(t)
	u := s.Put("/m.zip", registrytest.Zip(map[string]string{"main.tf": "# it"}))
	s.Put("/page", []byte(`<meta name="terraform-get" content="/m.zip" />`))
	s.Fault("/header", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Terraform-Get", u) })
	for _, at := range []string{"/page", "/header", "/page//sub"} {
		if _, _, _, err := m.Install(t.Context(), "k", "https://"+s.Host+at+"?checksum=sha256:"+strings.Repeat("0", 64), ""); err == nil || !strings.Contains(err.Error(), "has a checksum but is not known to be an archive") {
			t.Errorf("%s: %v", at, err)
		}
	}
}

// TestLocalRepositories checks that isLocal follows the rule of git.
func TestLocalRepositories(t *testing.T) {
	for address, want := range map[string]bool{
		"https://h/x": false, "ssh://h/x": false, "git@h:x": false, "h:x": false, "h:/x": false, "h:x/y:z": false,
		"/srv/x": true, "x": true, "file:///x": true, "FILE:///x": true, "File:/x": true, "../x": true, "./a:b": true, "/a:b": true, "a/b:c": true,
		"/sys/dev/char/10:183/../../x": true, "/x/https://h/y": true, "a/b://c": true, "": true,
	} {
		if filepath.VolumeName(address) != "" {
			want = true // on Windows the address begins with the drive h, so it is local
		}
		if isLocal(address) != want {
			t.Errorf("%q: %v", address, !want)
		}
	}
}

// serveGit serves a bare copy of a repository over http.
func serveGit(t *testing.T, repo string) string {
	t.Helper()
	top := t.TempDir()
	git := gitIn(t)
	git(top, "clone", "-q", "--bare", repo, "r.git")
	git(filepath.Join(top, "r.git"), "update-server-info")
	server := httptest.NewServer(http.FileServer(http.Dir(top)))
	t.Cleanup(server.Close)
	return server.URL + "/r.git"
}

// gitIn returns a function that runs git in a directory and returns its output.
func gitIn(t *testing.T) func(dir string, args ...string) string {
	return func(dir string, args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "protocol.file.allow=always"}, args...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.test", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.test")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %s", args, out)
		}
		return strings.TrimSpace(string(out))
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// TestKeyInAddress checks that git uses the private key in the address of a repository in addition to the user's command
// for ssh, and that no file contains the key afterwards.
func TestKeyInAddress(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil || runtime.GOOS == "windows" {
		t.Skip("git is not installed, or ssh cannot be a shell script")
	}
	const key = "canary-of-the-key"
	top := t.TempDir()
	t.Setenv("TMPDIR", filepath.Join(top, "it's a directory"))
	repo, ssh := filepath.Join(top, "repo"), filepath.Join(top, "ssh")
	write(t, filepath.Join(os.Getenv("TMPDIR"), "x"), "")
	write(t, ssh, "#!/bin/sh\n[ \"$1 $2\" = '-v -i' ] && grep -q "+key+" \"$3\" || exit 1\nshift $(($# - 1))\neval \"$1\"\n")
	if err := os.Chmod(ssh, 0o755); err != nil {
		t.Fatal(err)
	}
	git := gitIn(t)
	git(top, "init", "-q", "-b", "main", repo)
	write(t, filepath.Join(repo, "main.tf"), "# it")
	git(repo, "add", "-A")
	git(repo, "commit", "-qm", "x")
	_, m := modules(t)
	m.Environ = append(os.Environ(), "GIT_SSH_VARIANT=ssh", "GIT_SSH_COMMAND="+ssh+" -v")
	source := "git::ssh://git@example.test" + repo
	if _, _, _, err := m.Install(t.Context(), "none", source, ""); err == nil {
		t.Error("it was installed without the key")
	}
	dir, _, _, err := m.Install(t.Context(), "k", source+"?sshkey="+base64.StdEncoding.EncodeToString([]byte(key)), "")
	if err != nil || holds(t, dir) != "# it" {
		t.Error(err)
	}
	for _, dir := range []string{m.WorkDir, m.CacheDir, os.Getenv("TMPDIR")} {
		if text := grep(t, dir, key); text != "" {
			t.Errorf("%s contains the key", text)
		}
	}
}

// TestDownloadedRepositoryNamesLocalOne checks that a downloaded repository cannot cause files of this machine to be
// copied.
func TestDownloadedRepositoryNamesLocalOne(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	top := t.TempDir()
	git := gitIn(t)
	private := filepath.Join(top, "a:b", "private")
	git(top, "init", "-q", "-b", "main", private)
	write(t, filepath.Join(private, "secret.txt"), "canary-of-the-user")
	git(private, "add", "-A")
	git(private, "commit", "-qm", "x")
	commit := git(private, "rev-parse", "HEAD")
	for _, address := range []string{private, "file://" + private, "FILE://" + private, "file:" + private, filepath.Dir(private) + "/./private", "../../../../../../../../../../../../../../../.." + private, "ext::cat " + private} {
		module := filepath.Join(top, fmt.Sprintf("m%x", address))
		module = module[:min(len(module), 200)]
		git(top, "init", "-q", "-b", "main", module)
		write(t, filepath.Join(module, "main.tf"), "# it")
		write(t, filepath.Join(module, ".gitmodules"), "[submodule \"sub\"]\n\tpath = sub\n\turl = "+address+"\n")
		git(module, "add", "-A")
		git(module, "update-index", "--add", "--cacheinfo", "160000,"+commit+",sub")
		git(module, "commit", "-qm", "x")
		_, m := modules(t)
		_, _, _, err := m.Install(t.Context(), "k", "git::"+serveGit(t, module), "")
		if err == nil {
			t.Errorf("the submodule at %s was installed", address)
		}
		for _, dir := range []string{m.WorkDir, m.CacheDir} {
			if text := grep(t, dir, "canary-of-the-user"); text != "" {
				t.Errorf("%s: %s", address, text)
			}
		}
		if err := os.RemoveAll(module); err != nil {
			t.Fatal(err)
		}
	}
	// The user's settings of git may replace a remote repository by a local one.
	_, m := modules(t)
	m.Environ = append(os.Environ(), "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url.file://"+private+".insteadOf", "GIT_CONFIG_VALUE_0=https://git.example.test/x.git")
	if dir, _, _, err := m.Install(t.Context(), "k", "git::https://git.example.test/x.git", ""); err != nil || grep(t, dir, "canary-of-the-user") == "" {
		t.Error(err)
	}
}

// grep returns the name of a file below a directory that contains a text, or "" if no file contains it.
func grep(t *testing.T, dir, text string) (found string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(text)) {
			found = path
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestLeftHalf checks that the incomplete directory of a killed process is removed, and that the directory of a running
// process is kept.
func TestLeftHalf(t *testing.T) {
	top := t.TempDir()
	left, lock, err := makeFill(top)
	if err != nil {
		t.Fatal(err)
	}
	fillOne := func() {
		t.Helper()
		if err := fill(filepath.Join(top, "k"), func(tmp string) error { return os.WriteFile(filepath.Join(tmp, "main.tf"), nil, 0o644) }); err != nil {
			t.Fatal(err)
		}
	}
	fillOne()
	if _, err := os.Stat(left); err != nil {
		t.Error("what another process works on was removed")
	}
	lock.Close() // the system also releases the lock of a process that has ended
	fillOne()
	if all := within(top, "*"); len(all) != 1 {
		t.Errorf("%q", all)
	}
}

// TestNothingIsInstalledThroughLinks checks that a link in the place of the directory of modules or providers is not
// followed.
func TestNothingIsInstalledThroughLinks(t *testing.T) {
	disktest.NeedLinks(t)
	s, m := modules(t)
	u := s.Put("/m.zip", registrytest.Zip(map[string]string{"main.tf": "# it"}))
	elsewhere := t.TempDir()
	write(t, filepath.Join(elsewhere, "k", "precious"), "x")
	if err := os.Symlink(elsewhere, filepath.Join(m.DataDir, "modules")); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := m.Install(t.Context(), "k", u, ""); err == nil || !strings.Contains(err.Error(), "not a directory. Remove it") {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(elsewhere, "k", "precious")); err != nil {
		t.Error(err)
	}
	p := newStage(t)
	p.unpacked(p.mirror, acme.Host, "1.0.0", "x")
	if err := errors.Join(os.MkdirAll(p.p.DataDir, 0o755), os.Symlink(elsewhere, p.p.base())); err != nil {
		t.Fatal(err)
	}
	p.fails(p.install(false), "not a directory. Remove it")
}

// TestNoProgram checks that an archive without a program is neither installed nor locked.
func TestNoProgram(t *testing.T) {
	s := newStage(t)
	s.write(filepath.Join(s.mirror, acme.Host, "acme/toy", "terraform-provider-toy_1.0.0_"+Platform()+".zip"), zipped(s.T, entry{"README", "x", 0o644}))
	s.fails(s.install(false), "no program whose name begins with terraform-provider-toy")
	if _, ok := s.lockfile().Get(acme); ok {
		t.Error("it is locked")
	}
}

// TestOddNames checks that directories may have any name, that links to directories are copied, and that broken links
// are omitted.
func TestOddNames(t *testing.T) {
	s := newStage(t)
	s.mirror = filepath.Join(t.TempDir(), "a[1]*?{b")
	if runtime.GOOS == "windows" {
		s.mirror = filepath.Join(t.TempDir(), "a[1]{b")
	}
	s.p.Sources.Settings.Sources[0].Path = s.mirror
	s.addPackage(s.mirror, acme.Host, "1.0.0", "x")
	s.unpacked(s.mirror, acme.Host, "1.1.0", "y")
	s.fine(s.install(false))
	s.wants("1.1.0", "y")
	s.fine(s.install(true, "1.0.0"))
	s.wants("1.0.0", "x")

	from, to := t.TempDir(), t.TempDir()
	write(t, filepath.Join(from, "real", "f.txt"), "x")
	write(t, filepath.Join(from, "main.tf"), "")
	disktest.NeedLinks(t)
	if err := os.Symlink("real", filepath.Join(from, "files")); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"nowhere": "gone", "round": "round"} {
		if err := os.Symlink(to, filepath.Join(from, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := CopyModule(from, to); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(to, "files", "f.txt")); string(text) != "x" {
		t.Error(err)
	}
	if err := os.Symlink("..", filepath.Join(from, "real", "round")); err != nil {
		t.Fatal(err)
	}
	if err := CopyModule(from, t.TempDir()); err == nil || !strings.Contains(err.Error(), "leads to a directory that it is in") {
		t.Error(err)
	}
}

// TestNoHome checks that without a home directory, the working directory is not searched instead.
func TestNoHome(t *testing.T) {
	for _, dir := range implied(t.TempDir(), func(string) string { return "" }) {
		if !filepath.IsAbs(dir) {
			t.Error(dir)
		}
	}
}

// TestVersionsAsTags checks that versions may have the form of tags, in registries and in version arguments.
func TestVersionsAsTags(t *testing.T) {
	for text, want := range map[string]string{"v1.2.0": "1.2.0", ">= v1.2.0, < v2.0.0": ">= 1.2.0, < 2.0.0", "~>v1.2": "~>1.2", "1.0.0-v1": "1.0.0-v1"} {
		if got := moduleVersions(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	if err := versionFits("1.2.0", "v1.2.0"); err != nil {
		t.Error(err)
	}
}

// TestMajorVersionOfModule checks that "~> 1" allows later major versions of a module, as in Terraform, and that a call
// with "~> 1.0" has another entry in the lock file.
func TestMajorVersionOfModule(t *testing.T) {
	for constraint, want := range map[string]string{
		"~> 1": "3.1.0", "~>v1": "3.1.0", "~> 1, < 3": "2.0.0", "!= 3.1.0,~> 0": "2.0.0", "~> 1.0": "1.2.0", "~> 2": "3.1.0", "~> 1.1.0": "none",
	} {
		allowed, err := wantedVersions(constraint)
		if err != nil {
			t.Fatal(err)
		}
		got := "none"
		for _, v := range []string{"1.2.0", "2.0.0", "3.1.0"} {
			if allowed.has(version.Must(version.NewVersion(v))) && versionFits(v, constraint) == nil {
				got = v
			}
		}
		if got != want {
			t.Errorf("%q: %s, want %s", constraint, got, want)
		}
	}
	s, m := modules(t)
	for _, v := range []string{"1.2.0", "3.1.0"} {
		s.Module("acme/net/test", v, s.Put("/"+v+".zip", registrytest.Zip(map[string]string{"main.tf": "# " + v})))
	}
	for constraint, want := range map[string]string{"~> 1": "3.1.0", "~> 1.0": "1.2.0"} {
		if _, _, v, err := m.Install(t.Context(), "k"+want[:1], s.Host+"/acme/net/test", constraint); err != nil || v != want {
			t.Errorf("%q: %s, %v", constraint, v, err)
		}
	}
}

// TestVersionsOfModules checks that versions of modules may have any number of parts and metadata, which does not count in
// releases, and that pre-releases are selected as in Terraform.
func TestVersionsOfModules(t *testing.T) {
	for _, x := range []struct{ constraint, want string }{
		{"", "1.3.0.10"}, {"1.2.0", "1.2.0+build.5"}, {"1.2.0+other", "1.2.0+build.5"}, {"1.3.0.9", "1.3.0.9"}, {"~> 1.3.0.2", "1.3.0.10"},
		{"!= 1.3.0.10, >= 1.2", "1.3.0.9"}, {"~> 1.2.0", "1.2.0+build.5"}, {"2.0.0-rc.1+7", "2.0.0-rc.1+7"}, {"2.0.0-rc.1", ""}, {"< 1.2", "1.0.0"}, {">= 1.3.0.11", ""}, {">= 2.0.0-rc", ""},
		{"~> 1.2.0-beta", ""}, {">= 1.2.0-beta, < 1.3", "1.2.0+build.5"},
	} {
		s, m := modules(t)
		for _, v := range []string{"v1.0", "1.2.0+build.5", "1.3.0.9", "1.3.0.10", "2.0.0-rc.1+7", "none"} {
			path := strings.TrimPrefix(strings.Replace(v, "v1.0", "1.0.0", 1), "v")
			s.Module("acme/net/test", v, s.Put("/"+path+".zip", registrytest.Zip(map[string]string{"main.tf": "# " + v})))
			s.Put("/v1/modules/acme/net/test/"+path+"/download", []byte("X-Terraform-Get: https://"+s.Host+"/"+path+".zip"))
		}
		dir, _, v, err := m.Install(t.Context(), "k", s.Host+"/acme/net/test", x.constraint)
		if v != x.want || (err == nil) != (x.want != "") {
			t.Errorf("%q: %q, %v", x.constraint, v, err)
			continue
		}
		if err != nil {
			continue
		}
		m.Lock.modules = map[moduleName]lockfile.Module{}
		m.Lock.SetModules(m.Locks())
		if err := errors.Join(m.Remember(), os.RemoveAll(dir)); err != nil {
			t.Fatal(err)
		}
		again := &Installer{Registry: m.Registry, Host: s.Host, WorkDir: m.WorkDir, DataDir: m.DataDir, Environ: m.Environ, Lock: m.Lock, Store: m.Store}
		if at, _, v, err := again.Install(t.Context(), "k", s.Host+"/acme/net/test", x.constraint); err != nil || v != x.want || at != dir {
			t.Errorf("%q again: %q in %s, %v", x.constraint, v, at, err)
		}
	}
}

// TestMetaOfPage checks that attributes of a meta element may be in any order and have any quotes.
func TestMetaOfPage(t *testing.T) {
	for page, want := range map[string]string{
		`<META name="terraform-get" content="/a">`: "/a", `<meta content='/a?x=1&amp;y=2' name='terraform-get'/>`: "/a?x=1&y=2",
		`<meta name=terraform-get content=/a >`: "/a", "<meta\n charset=x\n name=\"terraform-get\"\n content=\"/a\">": "/a",
		`<meta name="description" content="/b"><meta name="terraform-get" content="/a">`: "/a", `<meta name="x" content="terraform-get">`: "", "": "",
	} {
		if got := metaGet([]byte(page)); got != want {
			t.Errorf("%s: %q", page, got)
		}
	}
}

// TestRevisionsAsInClone checks that names of revisions are resolved as in a clone, and that a repository may use
// another hash function.
func TestRevisionsAsInClone(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	git := gitIn(t)
	for _, format := range []string{"sha1", "sha256"} {
		repo := filepath.Join(t.TempDir(), "r")
		git(t.TempDir(), "init", "-q", "-b", "main", "--object-format="+format, repo)
		for _, text := range []string{"# one", "# two", "# three"} {
			write(t, filepath.Join(repo, "main.tf"), text)
			git(repo, "add", "-A")
			git(repo, "commit", "-qm", text)
			switch text {
			case "# one":
				git(repo, "tag", "main")
				git(repo, "tag", "side")
			case "# two":
				git(repo, "update-ref", "refs/heads/side", "HEAD")
			}
		}
		_, m := modules(t)
		for query, want := range map[string]string{"?ref=main": "# three", "?ref=side": "# one", "?ref=origin/side": "# two", "?ref=origin/main&archive=false": "# three"} {
			dir, _, _, err := m.Install(t.Context(), "k", "git::file://"+filepath.ToSlash(repo)+query, "")
			if err != nil {
				t.Errorf("%s %s: %v", format, query, err)
			} else if got := holds(t, dir); got != want {
				t.Errorf("%s %s: %s", format, query, got)
			}
		}
	}
}

// TestCopiesOfRepositories checks that lock files of a killed git do not block a copy, and that an interrupt ends the
// wait for another process.
func TestCopiesOfRepositories(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	git := gitIn(t)
	repo := filepath.Join(t.TempDir(), "r")
	git(t.TempDir(), "init", "-q", "-b", "main", repo)
	write(t, filepath.Join(repo, "main.tf"), "# it")
	git(repo, "add", "-A")
	git(repo, "commit", "-qm", "x")
	_, m := modules(t)
	source := "git::file://" + filepath.ToSlash(repo) + "?depth=1"
	if _, _, _, err := m.Install(t.Context(), "k", source, ""); err != nil {
		t.Fatal(err)
	}
	copies := within(m.CacheDir, "*.git")
	if len(copies) != 1 {
		t.Fatalf("%q", copies)
	}
	write(t, filepath.Join(copies[0], "shallow.lock"), "")
	again := func(ctx context.Context) error {
		m.packages, m.copies, m.named = nil, nil, nil
		_, _, _, err := m.Install(ctx, "k2", source, "")
		return err
	}
	if err := again(t.Context()); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := lockedIn(t.Context(), m.CacheDir, filepath.Base(copies[0])+".lock", func() error {
		cancel()
		return again(ctx)
	})
	if err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Error(err)
	}
}
