package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestRelease checks that a release is complete, and that two releases have the same bytes. With LETHE_LONG it makes
// the releases of all platforms, and compiles the second one without a cache.
func TestRelease(t *testing.T) {
	here := runtime.GOOS + "/" + runtime.GOARCH
	list := here
	if os.Getenv("LETHE_LONG") != "" {
		list = platforms
	}
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	const version = "9.8.7"
	first, second := t.TempDir(), t.TempDir()
	if err := run("..", first, version, list); err != nil {
		t.Fatal(err)
	}
	if list != here { // no file of the first release is reused
		t.Setenv("GOCACHE", t.TempDir())
	}
	if err := run("..", second, version, here); err != nil {
		t.Fatal(err)
	}
	sums := read(t, filepath.Join(first, "SHA256SUMS"))
	for line := range strings.Lines(string(read(t, filepath.Join(second, "SHA256SUMS")))) {
		if !strings.Contains(string(sums), line) {
			t.Errorf("made twice, the second time with %sand the first time with\n%s", line, sums)
		}
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

// checkArchive checks that all files of the program are there, and that man can read its pages.
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
			out, err := exec.Command("man", "--warnings", "-l", page).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "-json") || strings.Contains(string(out), "warning") {
				t.Errorf("man: %v\n%s", err, out)
			}
		}
	}
	for _, want := range []string{"lethe", "LICENSE", "README.md", "man/lethe.1", "man/lethe-plan.1", "completions/lethe.bash", "completions/_lethe", "completions/lethe.fish", "completions/lethe.ps1"} {
		if !slices.Contains(names, want) {
			t.Errorf("the archive has no %s", want)
		}
	}
}

// TestInstallRefused checks that the install script refuses unclear arguments, and writes nothing to the root directory
// if no home directory is set.
func TestInstallRefused(t *testing.T) {
	for args, want := range map[string]string{
		"-u .":       "HOME is not set",
		"/opt/lethe": `"/opt/lethe" is not an option`,
		"-x":         "usage: sh install.sh",
	} {
		cmd := exec.Command("sh", append([]string{"install.sh"}, strings.Fields(args)...)...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "install.sh: "+want) {
			t.Errorf("install.sh %s: %v\n%s", args, err, out)
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

// checkDebian checks that dpkg can read the package, and that the program has the right path.
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
