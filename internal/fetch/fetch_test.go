package fetch

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/config/lockfile"
	"github.com/lethe-iac/lethe/internal/limits"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cliconfig"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/event"
)

var acme = addr.Provider{Host: addr.DefaultHost, Namespace: "acme", Type: "toy"}

// stage is a working directory with a mirror, and the Providers that install from it.
type stage struct {
	*testing.T
	dir, mirror string
	env         map[string]string
	p           *Providers
	notes       []string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{T: t, dir: t.TempDir(), mirror: t.TempDir(), env: map[string]string{"HOME": t.TempDir(), "XDG_DATA_DIRS": t.TempDir()}}
	s.p = &Providers{
		Sources: Sources{
			Settings: &cliconfig.Settings{Installs: true, Sources: []cliconfig.Installation{{Method: "filesystem_mirror", Path: s.mirror}}},
			WorkDir:  s.dir,
			Getenv:   func(name string) string { return s.env[name] },
		},
		DataDir:  filepath.Join(s.dir, ".terraform"),
		Progress: Progress{Note: func(n event.Note) { s.notes = append(s.notes, n.Text) }},
	}
	return s
}

// unpacked adds a version to a mirror as a directory.
func (s *stage) unpacked(mirror, host, version, content string) {
	s.Helper()
	s.write(filepath.Join(mirror, host, "acme/toy", version, Platform(), "terraform-provider-toy_v"+version), content)
}

// addPackage adds a version to a mirror as an archive.
func (s *stage) addPackage(mirror, host, version, content string) {
	s.Helper()
	s.write(filepath.Join(mirror, host, "acme/toy", "terraform-provider-toy_"+version+"_"+Platform()+".zip"), zipped(s.T, entry{"terraform-provider-toy_v" + version, content, 0o755}))
}

func (s *stage) write(path, content string) {
	s.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		s.Fatal(err)
	}
}

type entry struct {
	name, content string
	mode          os.FileMode
}

func zipped(t *testing.T, entries ...entry) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		h.SetMode(e.mode)
		f, err := w.CreateHeader(h)
		if err == nil {
			_, err = f.Write([]byte(e.content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// lockfile reads the lock file of the working directory.
func (s *stage) lockfile() *Lockfile {
	s.Helper()
	var bag diag.Bag
	l, ok := ReadLockfile(s.dir, limits.Limits{}, &diag.Sources{}, &bag)
	if !ok {
		s.Fatal(bag.List())
	}
	return l
}

// install installs the provider, writes the lock file and returns the messages.
func (s *stage) install(upgrade bool, constraints ...string) string {
	s.Helper()
	var bag diag.Bag
	l := s.lockfile()
	n := Need{Provider: acme}
	for _, c := range constraints {
		n.Versions = append(n.Versions, config.VersionConstraint{Text: c})
	}
	if s.p.Install(s.Context(), []Need{n}, l, upgrade, &bag) != !bag.HasErrors() {
		s.Error("the answer of Install does not fit its diagnostics")
	}
	if err := l.Write(); err != nil {
		s.Fatal(err)
	}
	var text []string
	for _, d := range bag.List() {
		text = append(text, d.Summary+": "+d.Detail)
	}
	return strings.Join(text, "\n")
}

// installed returns the selected version and the content of its program.
func (s *stage) installed() (version, content string) {
	s.Helper()
	path, version, err := s.p.Find(acme, s.lockfile())
	if err != nil {
		return "", err.Error()
	}
	text, err := os.ReadFile(path)
	if err != nil {
		s.Fatal(err)
	}
	return version, string(text)
}

func (s *stage) wants(version, content string) {
	s.Helper()
	if v, c := s.installed(); v != version || c != content {
		s.Errorf("%s %q is installed, want %s %q", v, c, version, content)
	}
}

func (s *stage) fails(what, want string) {
	s.Helper()
	if !strings.Contains(what, want) {
		s.Errorf("got %q, want %q", what, want)
	}
}

func (s *stage) fine(what string) {
	s.Helper()
	if what != "" {
		s.Fatal(what)
	}
}

func TestNewestAllowed(t *testing.T) {
	for _, c := range []struct {
		constraints []string
		want        string
	}{
		{nil, "1.10.0"}, {[]string{"~> 1.2.0"}, "1.2.3"}, {[]string{">= 1.0.0", "< 1.2.3"}, "1.2.0"}, {[]string{"!= 1.10.0"}, "1.2.3"},
		{[]string{"2.0.0-beta1"}, "2.0.0-beta1"},                                                                              // a prerelease only if a constraint names it
		{[]string{"2.0.0-beta1", ">= 1.0.0"}, "2.0.0-beta1"}, {[]string{">= 1.0.0", "2.0.0-beta1", "< 3.0.0"}, "2.0.0-beta1"}, // any of the constraints
	} {
		s := newStage(t)
		for i, v := range []string{"1.2.0", "1.10.0", "1.2.3", "2.0.0-beta1"} {
			if i%2 == 0 {
				s.unpacked(s.mirror, acme.Host, v, v)
			} else {
				s.addPackage(s.mirror, acme.Host, v, v)
			}
		}
		s.write(filepath.Join(s.mirror, acme.Host, "acme/toy/3.0.0/plan9_mips/terraform-provider-toy"), "elsewhere")
		s.write(filepath.Join(s.mirror, acme.Host, "acme/toy/junk"), "junk")
		s.fine(s.install(false, c.constraints...))
		s.wants(c.want, c.want)
	}
	s := newStage(t)
	s.unpacked(s.mirror, acme.Host, "1.2.0", "a")
	s.fails(s.install(false, ">= 2.0.0"), "no available releases match the given constraints >= 2.0.0. Available are: 1.2.0")
	s.unpacked(s.mirror, acme.Host, "2.0.0-beta1", "b")
	s.fails(s.install(false, "2.0.0-beta1", "< 1.5.0"), "no available releases match")
	s.fails(s.install(false, "not a version"), "Invalid provider version constraint")
	empty := newStage(t)
	empty.fails(empty.install(false), "was not found in any of the search locations")
	empty.fails(empty.install(false), empty.mirror)
}

// TestHashes checks that both forms of a package have the same h1, that an archive also has its zh, and that a package
// must match a hash in the lock file.
func TestHashes(t *testing.T) {
	s := newStage(t)
	s.addPackage(s.mirror, acme.Host, "1.0.0", "the program")
	s.fine(s.install(false, "1.0.0"))
	lock, _ := s.lockfile().Get(acme)
	if len(lock.Hashes) != 2 || !strings.HasPrefix(lock.Hashes[0], "h1:") || !strings.HasPrefix(lock.Hashes[1], "zh:") || lock.Constraints != "1.0.0" {
		t.Fatalf("%+v", lock)
	}
	unpacked := newStage(t)
	unpacked.unpacked(unpacked.mirror, acme.Host, "1.0.0", "the program")
	unpacked.fine(unpacked.install(false))
	other, _ := unpacked.lockfile().Get(acme)
	if !slices.Equal(other.Hashes, lock.Hashes[:1]) {
		t.Errorf("unpacked %v, packed %v", other.Hashes, lock.Hashes)
	}
	// A package that does not match the lock is refused and leaves no files. One matching hash is enough.
	for _, c := range []struct {
		hashes []string
		ok     bool
	}{{lock.Hashes[1:], true}, {lock.Hashes[:1], true}, {[]string{"h1:" + strings.Repeat("A", 43) + "="}, false}, {[]string{"zh:" + strings.Repeat("0", 64)}, false}} {
		s := newStage(t)
		s.addPackage(s.mirror, acme.Host, "1.0.0", "the program")
		s.write(filepath.Join(s.dir, LockName), fmt.Sprintf("provider %q {\n  version = \"1.0.0\"\n  hashes = [%q]\n}\n", acme, c.hashes[0]))
		got := s.install(false)
		if c.ok {
			s.fine(got)
			s.wants("1.0.0", "the program")
			continue
		}
		s.fails(got, "does not match any of the checksums")
		if _, content := s.installed(); !strings.Contains(content, "there is no package") {
			t.Errorf("what was refused is installed: %s", content)
		}
	}
}

func TestLocked(t *testing.T) {
	s := newStage(t)
	s.unpacked(s.mirror, acme.Host, "1.0.0", "one")
	s.fine(s.install(false, ">= 1.0.0"))
	first, err := os.ReadFile(filepath.Join(s.dir, LockName))
	if err != nil {
		t.Fatal(err)
	}
	s.unpacked(s.mirror, acme.Host, "1.1.0", "two")
	s.fine(s.install(false, ">= 1.0.0"))
	s.wants("1.0.0", "one")
	if again, _ := os.ReadFile(filepath.Join(s.dir, LockName)); !bytes.Equal(first, again) {
		t.Errorf("the lock file changed:\n%s", again)
	}
	if !slices.Contains(s.notes, "- Using previously-installed acme/toy v1.0.0") {
		t.Errorf("%q", s.notes)
	}
	s.fails(s.install(false, ">= 1.1.0"), "must use lethe init -upgrade")
	s.fine(s.install(true, ">= 1.1.0"))
	s.wants("1.1.0", "two")
	if lock, _ := s.lockfile().Get(acme); len(lock.Hashes) != 1 {
		t.Errorf("hashes of another version stay: %v", lock.Hashes)
	}
	// An installed package is compared with the lock file before it is used.
	if err := s.p.Verify(acme, s.lockfile()); err != nil {
		t.Error(err)
	}
	s.unpacked(s.mirror, acme.Host, "1.1.0", "changed") // the installed package may be a link to this directory
	s.write(filepath.Join(packageDir(s.p.base(), acme, "1.1.0"), "terraform-provider-toy_v1.1.0"), "changed")
	if err := s.p.Verify(acme, s.lockfile()); err == nil || !strings.Contains(err.Error(), "does not match any of the checksums") {
		t.Errorf("a changed package: %v", err)
	}
	s.fails(s.install(false), "does not match any of the checksums")
}

// TestImplied installs from directories that are searched without a setting.
func TestImplied(t *testing.T) {
	s := newStage(t)
	s.p.Sources.Settings = &cliconfig.Settings{}
	dirs := []string{
		filepath.Join(s.dir, "terraform.d/plugins"), filepath.Join(s.env["HOME"], ".terraform.d/plugins"),
		filepath.Join(s.env["HOME"], ".local/share/terraform/plugins"), filepath.Join(s.env["XDG_DATA_DIRS"], "opentofu/plugins"),
	}
	data := "XDG_DATA_HOME"
	if runtime.GOOS == "windows" {
		data, s.env["APPDATA"] = "APPDATA", t.TempDir()
		dirs = []string{
			filepath.Join(s.dir, "terraform.d/plugins"), filepath.Join(s.env["APPDATA"], "terraform.d/plugins"),
			filepath.Join(s.env["APPDATA"], "HashiCorp/Terraform/plugins"), filepath.Join(s.env["APPDATA"], "OpenTofu/plugins"),
		}
	}
	for i, dir := range dirs {
		version := fmt.Sprintf("1.%d.0", i)
		s.unpacked(dir, acme.Host, version, dir)
		s.fine(s.install(true))
		s.wants(version, dir)
	}
	s.env[data] = t.TempDir()
	s.addPackage(filepath.Join(s.env[data], map[string]string{"XDG_DATA_HOME": "terraform/plugins", "APPDATA": "OpenTofu/plugins"}[data]), acme.Host, "2.0.0", "data home")
	s.fine(s.install(true))
	s.wants("2.0.0", "data home")
	s.p.Sources.Settings.Installs = true // the CLI configuration has a provider_installation block, so no implied directories are used
	s.fails(s.install(true), "no method in the provider_installation block of the CLI configuration includes it")
	only := filepath.Join(s.dir, "terraform.d/plugins")
	s.p.Sources.OnlyDir(only)
	s.fine(s.install(true))
	s.wants("1.0.0", only)
}

func TestIncludeAndExclude(t *testing.T) {
	for _, c := range []struct {
		include, exclude []string
		ok               bool
	}{
		{nil, nil, true}, {[]string{"acme/toy"}, nil, true}, {[]string{"*/*/*"}, nil, true}, {[]string{"other/*"}, nil, false},
		{[]string{"registry.terraform.io/acme/*"}, nil, true}, {[]string{"example.com/*/*"}, nil, false},
		{nil, []string{"acme/*"}, false}, {[]string{"acme/*"}, []string{"*/*/toy"}, false}, {nil, []string{"registry.terraform.io/*/*"}, false},
	} {
		s := newStage(t)
		s.unpacked(s.mirror, acme.Host, "1.0.0", "x")
		s.p.Sources.Settings.Sources[0].Include, s.p.Sources.Settings.Sources[0].Exclude = c.include, c.exclude
		if got := s.install(false); (got == "") != c.ok {
			t.Errorf("include %v, exclude %v: %s", c.include, c.exclude, got)
		}
	}
}

// TestOtherHost checks that the host names of the registries are equivalent in mirrors, lock files and overrides.
func TestOtherHost(t *testing.T) {
	s := newStage(t)
	s.unpacked(s.mirror, addr.TerraformHost, "1.0.0", "theirs")
	s.fine(s.install(false))
	s.wants("1.0.0", "theirs")

	s = newStage(t)
	theirs := acme
	theirs.Host = addr.TerraformHost
	s.unpacked(s.mirror, addr.TerraformHost, "1.0.0", "theirs")
	s.unpacked(s.mirror, addr.TerraformHost, "1.1.0", "newer")
	s.write(filepath.Join(s.dir, LockName), fmt.Sprintf("# theirs\nprovider %q {\n  version = \"1.0.0\"\n}\n", theirs))
	s.fine(s.install(false))
	s.wants("1.0.0", "theirs")
	if all := s.lockfile().Providers(); len(all) != 1 || all[0].Provider != theirs {
		t.Errorf("the entry has another host now: %v", all)
	}
	s.p.Sources.Settings.Overrides = map[addr.Provider]string{theirs: s.dir}
	s.write(filepath.Join(s.dir, "terraform-provider-toy"), "mine")
	if path, version, err := s.p.Find(acme, s.lockfile()); err != nil || version != "" || filepath.Base(path) != "terraform-provider-toy" {
		t.Errorf("the override is not taken: %s %s %v", path, version, err)
	}
	if err := os.Remove(filepath.Join(s.dir, "terraform-provider-toy")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.p.Find(acme, s.lockfile()); err == nil || !strings.Contains(err.Error(), "dev_overrides") {
		t.Errorf("an override without a program: %v", err)
	}
}

func TestCache(t *testing.T) {
	cache := t.TempDir()
	for range 2 { // the second working directory uses the package that the first installed
		s := newStage(t)
		s.p.CacheDir = cache
		s.addPackage(s.mirror, acme.Host, "1.0.0", "the program")
		s.fine(s.install(false))
		s.wants("1.0.0", "the program")
		target, err := os.Readlink(packageDir(s.p.base(), acme, "1.0.0"))
		if runtime.GOOS != "windows" && (err != nil || target != packageDir(cache, acme, "1.0.0")) {
			t.Errorf("not a link into the cache: %s %v", target, err)
		}
	}
	// A damaged package in the cache is replaced.
	s := newStage(t)
	s.p.CacheDir = cache
	s.addPackage(s.mirror, acme.Host, "1.0.0", "the program")
	s.fine(s.install(false))
	lock := s.lockfile().Bytes()
	s.write(filepath.Join(packageDir(cache, acme, "1.0.0"), "terraform-provider-toy_v1.0.0"), "spoilt")
	if err := os.RemoveAll(s.p.DataDir); err != nil {
		t.Fatal(err)
	}
	s.fine(s.install(false))
	s.wants("1.0.0", "the program")
	if !bytes.Equal(lock, s.lockfile().Bytes()) {
		t.Error("the lock file changed")
	}
}

// TestArchives checks that no file is written outside its directory, and that a bad archive leaves no files.
func TestArchives(t *testing.T) {
	for name, text := range map[string]string{
		"not a zip": "PK nonsense",
		"escapes":   zipped(t, entry{"../../evil", "x", 0o644}),
		"absolute":  zipped(t, entry{"/tmp/evil", "x", 0o644}),
		"link":      zipped(t, entry{"terraform-provider-toy", "/etc/passwd", 0o777 | os.ModeSymlink}),
		"twice":     zipped(t, entry{"terraform-provider-toy", "a", 0o755}, entry{"terraform-provider-toy", "b", 0o755}),
		"cut":       zipped(t, entry{"terraform-provider-toy", strings.Repeat("abc", 1000), 0o755})[:60],
	} {
		s := newStage(t)
		s.write(filepath.Join(s.mirror, acme.Host, "acme/toy", "terraform-provider-toy_1.0.0_"+Platform()+".zip"), text)
		if got := s.install(false); !strings.Contains(got, "Failed to install provider") {
			t.Errorf("%s: %q", name, got)
		}
		left, err := filepath.Glob(filepath.Join(s.p.base(), "*/*/*/*/*"))
		if err != nil || len(left) > 0 {
			t.Errorf("%s leaves %v %v", name, left, err)
		}
		if _, err := os.Lstat(filepath.Join(s.p.base(), acme.Host, "evil")); err == nil {
			t.Errorf("%s escaped", name)
		}
	}
	s := newStage(t)
	s.write(filepath.Join(s.mirror, acme.Host, "acme/toy", "terraform-provider-toy_1.0.0_"+Platform()+".zip"),
		zipped(t, entry{"docs/", "", 0o755 | os.ModeDir}, entry{"docs/README", "x", 0o644}, entry{"terraform-provider-toy_v1.0.0_x5", "deep", 0o755}))
	s.fine(s.install(false))
	s.wants("1.0.0", "deep")
}

// TestUnpackedBeforeArchive checks that a directory in a mirror has priority over an archive of the same version, as in
// Terraform, and that the index of a network mirror nevertheless lists the archive.
func TestUnpackedBeforeArchive(t *testing.T) {
	s := newStage(t)
	s.addPackage(s.mirror, acme.Host, "1.0.0", "archive")
	s.unpacked(s.mirror, acme.Host, "1.0.0", "directory")
	s.fine(s.install(false))
	s.wants("1.0.0", "directory")
	all, err := index(mirror(s.mirror), acme, filepath.Join(s.mirror, acme.Host, "acme/toy"))
	if at := all["1.0.0"][Platform()]; err != nil || len(at.Hashes) != 2 || at.URL != "terraform-provider-toy_1.0.0_"+Platform()+".zip" {
		t.Errorf("%v, %v", all, err)
	}
}

func TestLockfile(t *testing.T) {
	dir := t.TempDir()
	var bag diag.Bag
	l, ok := ReadLockfile(dir, limits.Limits{}, &diag.Sources{}, &bag)
	if !ok || !l.IsNew() || l.Changed() {
		t.Error("a missing file is not empty")
	}
	l.Set(lockfile.Provider{Provider: acme, Version: "1.0.0", Hashes: []string{"zh:b", "h1:a"}})
	l.Set(lockfile.Provider{Provider: addr.Provider{Host: "example.com", Namespace: "a", Type: "b"}, Version: "2.0.0"})
	if err := l.Write(); err != nil {
		t.Fatal(err)
	}
	back, ok := ReadLockfile(dir, limits.Limits{}, &diag.Sources{}, &bag)
	if !ok || len(back.Providers()) != 2 || back.Changed() || back.Providers()[0].Provider.Host != "example.com" {
		t.Errorf("%v %v", back.Providers(), bag.List())
	}
	back.Keep(func(p addr.Provider) bool { return p == acme })
	if !back.Changed() || len(back.Providers()) != 1 {
		t.Error("what nothing needs stays")
	}
	if err := os.WriteFile(filepath.Join(dir, LockName), []byte("provider {"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, ok := ReadLockfile(dir, limits.Limits{}, &diag.Sources{}, &bag); ok || !bag.HasErrors() {
		t.Error("a torn file is read")
	}
}
