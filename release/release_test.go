package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
)

// TestRelease checks that a release is complete, and that a second release of the same source, made in another
// directory by a hostile environment, has the same bytes. With LETHE_LONG it makes the releases of all platforms, and
// compiles the second release without a cache. The first release is signed: no file, no output and no child process
// receives the key.
func TestRelease(t *testing.T) {
	here := runtime.GOOS + "/" + runtime.GOARCH
	list := here
	if os.Getenv("LETHE_LONG") != "" {
		list = platforms
	}
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	const version = "9.8.7"
	key := newKey(t, time.Now(), 0)
	secrets := secrets(t, key, armored(t, openpgp.PrivateKeyType, key))
	t.Setenv(keyVariable, encrypted(t, key))
	t.Setenv(passphraseVariable, passphrase)
	first, temp := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	watched := watchCommands(t)
	var stdout bytes.Buffer
	if err := run(&stdout, "..", first, version, list); err != nil {
		t.Fatal(err)
	}
	if want := "The key " + fingerprint(key) + " signed the release: SHA256SUMS.sig.\n"; !strings.HasPrefix(stdout.String(), want) {
		t.Errorf("the release prints:\n%s", &stdout)
	}
	noSecret(t, "the output", stdout.Bytes(), secrets)
	noSecret(t, "the environment of a child process", watched(), secrets)
	for _, dir := range []string{first, temp} {
		noSecretIn(t, dir, secrets)
	}
	checkSameBytes(t, first, version, here)
	sums := read(t, filepath.Join(first, sumsName))
	signature := read(t, filepath.Join(first, signatureName))
	if _, err := openpgp.CheckDetachedSignature(openpgp.EntityList{key}, bytes.NewReader(sums), bytes.NewReader(signature), nil); err != nil {
		t.Error(err)
	}
	for _, platform := range strings.Split(list, ",") {
		system, arch, _ := strings.Cut(platform, "/")
		name := "lethe_" + version + "_" + system + "_" + arch
		ends := map[string][]string{"linux": {".tar.gz", ".deb", ".rpm"}, "windows": {".zip"}}[system]
		if ends == nil {
			ends = []string{".tar.gz"}
		}
		for _, end := range append(ends, ".cdx.json") {
			if !strings.Contains(string(sums), "  "+name+end+"\n") {
				t.Errorf("there is no %s%s", name, end)
			}
		}
	}
	name := filepath.Join(first, "lethe_"+version+"_"+runtime.GOOS+"_"+runtime.GOARCH)
	checkBill(t, name+".cdx.json", version)
	if runtime.GOOS == "windows" {
		return
	}
	checkArchive(t, name+".tar.gz")
	checkInstall(t, first, version)
	if _, err := exec.LookPath("dpkg-deb"); err == nil && runtime.GOOS == "linux" {
		checkDebian(t, name+".deb", version)
	}
	if runtime.GOOS == "linux" {
		if data := read(t, name+".rpm"); !bytes.HasPrefix(data, []byte{0xed, 0xab, 0xee, 0xdb}) {
			t.Error("the RPM package does not begin as one")
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// checkArchive checks that an archive contains all files of a release, that the linker has dropped the code of
// templates from the program, and that man can read a page.
func checkArchive(t *testing.T, path string) {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(read(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(zip); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
		if h.Name == "lethe" {
			program, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(program, []byte("text/template.(*state).evalField")) {
				t.Error("templates are in the program: the linker keeps every method for them")
			}
		}
		if _, err := exec.LookPath("man"); err == nil && strings.HasSuffix(h.Name, "lethe-state-list.1") {
			page := filepath.Join(t.TempDir(), "lethe-state-list.1")
			text, err := io.ReadAll(r)
			if err == nil {
				err = os.WriteFile(page, text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			var warnings bytes.Buffer
			man := exec.Command("man", "--warnings", "-l", page)
			man.Stderr = &warnings
			if out, err := man.Output(); err != nil || !strings.Contains(string(out), "-json") || warnings.Len() > 0 {
				t.Errorf("man: %v, %s\n%s", err, &warnings, out)
			}
		}
	}
	for _, want := range []string{"lethe", "LICENSE", "README.md", "man/lethe.1", "man/lethe-plan.1", "completions/lethe.bash", "completions/_lethe", "completions/lethe.fish", "completions/lethe.ps1"} {
		if !slices.Contains(names, want) {
			t.Errorf("the archive has no %s", want)
		}
	}
}

// checkInstall checks that the script installs the program of the release, and refuses a program with a wrong checksum.
func checkInstall(t *testing.T, dist, version string) {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "bin")
	install := func() (string, error) {
		cmd := exec.Command("sh", filepath.Join(dist, "install.sh"), "-d", bin, "-u", dist)
		cmd.Dir = t.TempDir()
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := install(); err != nil || !strings.Contains(out, "Lethe release "+version) {
		t.Errorf("install.sh: %v\n%s", err, out)
	}
	archive := filepath.Join(dist, "lethe_"+version+"_"+runtime.GOOS+"_"+runtime.GOARCH+".tar.gz")
	data := read(t, archive)
	if err := os.WriteFile(archive, append(data, 0), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := install(); err == nil || !strings.Contains(out, "nothing was installed") {
		t.Errorf("install.sh with another archive: %v\n%s", err, out)
	}
}

// watchCommands puts a program "go" into PATH that records its environment and runs the real one. It returns a function
// that returns the record. On Windows it does nothing, and the record is nil.
func watchCommands(t *testing.T) func() []byte {
	t.Helper()
	if runtime.GOOS == "windows" {
		return func() []byte { return nil }
	}
	real, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	record := filepath.Join(dir, "record")
	script := fmt.Sprintf("#!/bin/sh\nenv >>'%s'\nexec '%s' \"$@\"\n", record, real)
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return func() []byte {
		text := read(t, record)
		if !bytes.Contains(text, []byte("GOTOOLCHAIN=go")) {
			t.Errorf("the compiler's environment was not recorded:\n%s", text)
		}
		return text
	}
}

// noSecretIn checks that no file below a directory contains a secret, in plain form or compressed with gzip.
func noSecretIn(t *testing.T, dir string, secrets [][]byte) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data := read(t, path)
		noSecret(t, path, data, secrets)
		if zip, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
			if data, err = io.ReadAll(zip); err != nil {
				return err
			}
			noSecret(t, path, data, secrets)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// checkSameBytes makes the release of one platform from a copy of the source, and compares it with a release of the
// original. The copy has other times and modes, and the process has another directory, umask, time zone and language,
// and variables that change programs.
func checkSameBytes(t *testing.T, first, version, platform string) {
	t.Helper()
	source, second := filepath.Join(t.TempDir(), "a copy"), filepath.Join(t.TempDir(), "dist")
	copySource(t, source)
	program := filepath.Join(t.TempDir(), "release.exe")
	build := exec.Command("go", "build", "-trimpath", "-tags=grpcnotrace", "-o", program, ".")
	build.Dir = filepath.Join(source, "release")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	args := []string{program, "-source", source, "-out", second, "-version", version, "-platforms", platform}
	if runtime.GOOS != "windows" {
		args = append([]string{"sh", "-c", `umask 077 && exec "$@"`, "sh"}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "TZ=Asia/Tokyo", "LC_ALL=tr_TR.UTF-8", "USER=other", "HOSTNAME=other", "TMPDIR="+t.TempDir(),
		"GOFLAGS=-tags=other -gcflags=-N", "GOAMD64=v3", "GOARM64=v9.0", "GO111MODULE=on", "CGO_ENABLED=1")
	if os.Getenv("LETHE_LONG") != "" {
		cmd.Env = append(cmd.Env, "GOCACHE="+t.TempDir())
	}
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "The release is not signed, because LETHE_SIGNING_KEY is not set.\n" {
		t.Fatalf("%v\n%s", err, out)
	}
	made, err := os.ReadDir(second)
	if err != nil || len(made) < 5 {
		t.Fatalf("%v, %v", made, err)
	}
	for _, f := range made {
		if f.Name() == sumsName { // the first release may have more platforms
			for line := range strings.Lines(string(read(t, filepath.Join(second, sumsName)))) {
				if !strings.Contains(string(read(t, filepath.Join(first, sumsName))), line) {
					t.Errorf("the sums of the first release lack the line %s", line)
				}
			}
		} else if !bytes.Equal(read(t, filepath.Join(first, f.Name())), read(t, filepath.Join(second, f.Name()))) {
			t.Errorf("%s differs between two releases", f.Name())
		}
	}
}

// copySource copies the tracked files of the repository to a directory. It removes the permissions of the group and of
// others, and sets an old modification time. It leaves out deleted files and links.
func copySource(t *testing.T, to string) {
	t.Helper()
	list := exec.Command("git", "ls-files", "-z")
	list.Dir = ".."
	names, err := list.Output()
	if err != nil {
		t.Fatalf("the tracked files are not known: %v", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		from := filepath.Join("..", filepath.FromSlash(name))
		info, err := os.Lstat(from)
		if err != nil || !info.Mode().IsRegular() { // deleted, or a link
			continue
		}
		path := filepath.Join(to, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, read(t, from), info.Mode().Perm()&0o700); err != nil {
			t.Fatal(err)
		}
		old := time.Unix(1e9, 0)
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOldSignature checks that an unsigned release removes the signature of an earlier release in the directory.
func TestOldSignature(t *testing.T) {
	r := release{out: t.TempDir()}
	r.signer = &signer{newKey(t, time.Now(), 0)}
	path := filepath.Join(r.out, signatureName)
	if err := r.sums(nil); err != nil || len(read(t, path)) == 0 {
		t.Fatal(err)
	}
	r.signer = nil
	for range 2 {
		if err := r.sums(nil); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v", err)
		}
	}
}

// TestKeyIsReadFirst checks that a wrong key is reported before anything is made.
func TestKeyIsReadFirst(t *testing.T) {
	t.Setenv(keyVariable, "x")
	out := filepath.Join(t.TempDir(), "dist")
	if err := run(io.Discard, "..", out, "1.0.0", "linux/amd64"); err == nil || !strings.Contains(err.Error(), keyVariable) {
		t.Error(err)
	}
	if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the directory of the release was made")
	}
}

// checkBill checks that the bill of materials lists the program and its modules.
func checkBill(t *testing.T, path, version string) {
	t.Helper()
	var doc struct {
		Format     string `json:"bomFormat"`
		Metadata   struct{ Component component }
		Components []component `json:"components"`
	}
	if err := json.Unmarshal(read(t, path), &doc); err != nil {
		t.Fatal(err)
	}
	if of := doc.Metadata.Component; of.Name != "lethe" || of.Version != version {
		t.Errorf("the bill of materials is about %s %s", of.Name, of.Version)
	}
	for _, want := range []string{"go", "github.com/zclconf/go-cty"} {
		if doc.Format != "CycloneDX" || !slices.ContainsFunc(doc.Components, func(c component) bool { return c.Name == want && c.Version != "" }) {
			t.Errorf("the bill of materials has no %s", want)
		}
	}
}

// checkDebian checks that dpkg-deb can read the package, that the version is right, and that the program and a page for
// man have the right path.
func checkDebian(t *testing.T, path, version string) {
	t.Helper()
	out, err := exec.Command("dpkg-deb", "--info", path).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Version: "+version) {
		t.Errorf("dpkg-deb --info: %v\n%s", err, out)
	}
	out, err = exec.Command("dpkg-deb", "--contents", path).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "./usr/bin/lethe") || !strings.Contains(string(out), "./usr/share/man/man1/lethe-plan.1") {
		t.Errorf("dpkg-deb --contents: %v\n%s", err, out)
	}
}
