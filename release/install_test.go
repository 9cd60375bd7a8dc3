package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// TestInstallRefused checks that the install script refuses unclear arguments, and writes nothing to the root directory
// if no home directory is set.
func TestInstallRefused(t *testing.T) {
	for args, want := range map[string]string{
		"-u .":       "HOME is not set",
		"/opt/lethe": `"/opt/lethe" is not an option`,
		"-x":         "usage: sh install.sh",
		"-d . -k no": "the key no cannot be read",
	} {
		cmd := exec.Command("sh", append([]string{"install.sh"}, strings.Fields(args)...)...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "install.sh: "+want) {
			t.Errorf("install.sh %s: %v\n%s", args, err, out)
		}
	}
}

// dist is the directory of a small release for tests of the install script. Its program is a shell script. Releases of
// newDist differ only in the public key, so a signature of the sums of one is valid for all.
type dist struct {
	*testing.T
	dir string
}

// newDist makes a release whose install script contains a public key, or none if the key is "".
func newDist(t *testing.T, public string) dist {
	t.Helper()
	d := dist{t, t.TempDir()}
	archive, err := tarred([]file{{"lethe", []byte("#!/bin/sh\necho installed\n"), 0o755}}, time.Unix(1700000000, 0))
	if err != nil {
		t.Fatal(err)
	}
	name := "lethe_1.0.0_" + runtime.GOOS + "_" + runtime.GOARCH + ".tar.gz"
	d.write(name, archive)
	d.write(sumsName, fmt.Appendf(nil, "%x  %s\n", sha256.Sum256(archive), name))
	r := release{version: "1.0.0", key: public}
	d.write("install.sh", []byte(r.fill(string(read(t, "install.sh")))))
	return d
}

func (d dist) write(name string, data []byte) {
	d.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, name), data, 0o600); err != nil {
		d.Fatal(err)
	}
}

func (d dist) sums() []byte { return read(d.T, filepath.Join(d.dir, sumsName)) }

// signature returns the signature of a key for the sums, as if it were made at a time.
func (d dist) signature(key *openpgp.Entity, at time.Time) []byte {
	d.Helper()
	var b bytes.Buffer
	if err := openpgp.DetachSign(&b, key, bytes.NewReader(d.sums()), &packet.Config{Time: func() time.Time { return at }}); err != nil {
		d.Fatal(err)
	}
	return b.Bytes()
}

// tools returns a directory for PATH with the programs that the script needs, and the program that checks signatures
// unless it is "". It skips the test if a program is not installed.
func tools(t *testing.T, checker string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the install script is for Unix")
	}
	names := strings.Fields("sh uname cut awk tar gzip mv mkdir mktemp cp rm cat grep sed " + checker)
	if _, err := exec.LookPath("sha256sum"); err == nil {
		names = append(names, "sha256sum")
	} else {
		names = append(names, "shasum")
	}
	dir := t.TempDir()
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skip(err)
		}
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// install runs the script. It checks that the program is installed if and only if the script succeeds, and that no
// temporary file remains.
func (d dist) install(path string, args ...string) (string, error) {
	d.Helper()
	bin, temp := d.TempDir(), d.TempDir()
	cmd := exec.Command(filepath.Join(path, "sh"), append([]string{filepath.Join(d.dir, "install.sh"), "-d", bin, "-u", d.dir}, args...)...)
	cmd.Env = []string{"PATH=" + path, "TMPDIR=" + temp, "HOME=" + d.TempDir()}
	out, err := cmd.CombinedOutput()
	if _, missing := os.Stat(filepath.Join(bin, "lethe")); (missing == nil) != (err == nil) {
		d.Errorf("the script returns %v, and the program: %v", err, missing)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		d.Errorf("temporary files remain: %v, %v", left, err)
	}
	return string(out), err
}

// TestInstallChecksSignature checks with sqv and with gpg that the script installs a release only if the key in the
// script, or the key after -k, has signed it.
func TestInstallChecksSignature(t *testing.T) {
	const invalid = "SHA256SUMS has no valid signature of the key: nothing was installed"
	now := time.Now()
	key, other := newKey(t, now, 0), newKey(t, now, 0)
	revoked, expired := newKey(t, now, 0), newKey(t, now.Add(-48*time.Hour), 24*time.Hour)
	from := newDist(t, "")
	good := from.signature(key, now)
	ofRevoked := from.signature(revoked, now)
	if err := revoked.RevokeKey(packet.KeyCompromised, "test", nil); err != nil {
		t.Fatal(err)
	}
	for _, checker := range []string{"sqv", "gpg"} {
		for _, c := range []struct {
			name      string
			key       *openpgp.Entity
			signature []byte // nil for a release without a signature file
			change    bool   // the sums are changed after they were signed
			want      string // the error message of the script; "" if the program is installed
		}{
			{"good", key, good, false, ""},
			{"other key", key, from.signature(other, now), false, invalid},
			{"no signature", key, nil, false, "SHA256SUMS.sig cannot be downloaded"},
			{"empty signature", key, []byte{}, false, invalid},
			{"changed sums", key, good, true, invalid},
			{"revoked key", revoked, ofRevoked, false, invalid},
			{"expired key", expired, from.signature(expired, now.Add(-36*time.Hour)), false, ""}, // the signature was made before the key expired
		} {
			for _, given := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/k=%t", checker, c.name, given), func(t *testing.T) {
					path, public := tools(t, checker), publicKey(t, c.key)
					d, args := newDist(t, public), []string(nil)
					if given { // the key after -k replaces the key in the script
						d = newDist(t, publicKey(t, newKey(t, now, 0)))
						d.write("given.asc", []byte(public))
						args = []string{"-k", filepath.Join(d.dir, "given.asc")}
					}
					if c.signature != nil {
						d.write(signatureName, c.signature)
					}
					if c.change {
						d.write(sumsName, append(d.sums(), '\n'))
					}
					out, err := d.install(path, args...)
					if c.want == "" && (err != nil || !strings.Contains(out, "The signature of SHA256SUMS is valid.")) || !strings.Contains(out, c.want) || (err == nil) != (c.want == "") {
						t.Errorf("%v\n%s", err, out)
					}
				})
			}
		}
	}
}

// TestInstallWithoutCheck checks the message if no key is known or no program can check, and that -k makes it an error.
func TestInstallWithoutCheck(t *testing.T) {
	key := publicKey(t, newKey(t, time.Now(), 0))
	path := tools(t, "")
	d := newDist(t, "")
	if out, err := d.install(path); err != nil || !strings.Contains(out, "because no key is known") {
		t.Errorf("no key: %v\n%s", err, out)
	}
	d.write("install.sh", bytes.ReplaceAll(read(t, "install.sh"), []byte("@VERSION@"), []byte("1.0.0")))
	if out, err := d.install(path); err != nil || !strings.Contains(out, "because no key is known") {
		t.Errorf("the script of the repository: %v\n%s", err, out)
	}
	d = newDist(t, key)
	if out, err := d.install(path); err != nil || !strings.Contains(out, "because neither sqv nor gpg is installed") {
		t.Errorf("no program: %v\n%s", err, out)
	}
	d.write("given.asc", []byte(key))
	if out, err := d.install(path, "-k", filepath.Join(d.dir, "given.asc")); err == nil || !strings.Contains(out, "-k needs sqv or gpg") {
		t.Errorf("no program, with -k: %v\n%s", err, out)
	}
}

// TestDownloadPage runs the commands of the section about downloads of docs/installing-lethe.md, with a key for the
// test, and compares the output except for keys and times.
func TestDownloadPage(t *testing.T) {
	for _, name := range []string{"gpg", "sqv", "sha256sum"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(err)
		}
	}
	page := string(read(t, "../docs/installing-lethe.md"))
	_, section, _ := strings.Cut(page, "\n## How do I check a download?\n")
	section, _, _ = strings.Cut(section, "\n## ")
	key, err := openpgp.NewEntity("Example key", "", "key@example.test", &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA})
	if err != nil {
		t.Fatal(err)
	}
	key.Subkeys = nil // gpg lists them
	d := dist{t, t.TempDir()}
	const name = "lethe_1.2.3_linux_amd64.tar.gz"
	d.write(name, []byte("archive"))
	d.write(sumsName, fmt.Appendf(nil, "%x  %s\n%064d  lethe_1.2.3_linux_amd64.deb\n", sha256.Sum256([]byte("archive")), name, 0))
	d.write(signatureName, d.signature(key, time.Now()))
	d.write("signing-key.asc", []byte(publicKey(t, key)))
	home, err := os.MkdirTemp("", "gpg-*")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = exec.Command("gpgconf", "--homedir", home, "--kill", "all").Run()
		os.RemoveAll(home)
	}()
	commands := 0
	for block := range strings.SplitSeq(section, "```console\n") {
		block, _, ok := strings.Cut(block, "\n```")
		if !ok {
			continue
		}
		for _, part := range strings.Split("\n"+block, "\n$ ")[1:] {
			command, want, _ := strings.Cut(part, "\n")
			cmd := exec.Command("sh", "-c", command)
			cmd.Dir = d.dir
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GNUPGHOME=" + home, "LC_ALL=C", "TZ=UTC"}
			out, err := cmd.CombinedOutput()
			if got := strings.TrimRight(string(out), "\n"); err != nil || keyless(got, home) != keyless(want, home) {
				t.Errorf("$ %s\n%v\n%s\nthe page has:\n%s", command, err, got, want)
			}
			commands++
		}
	}
	if commands < 4 {
		t.Errorf("the page has %d commands", commands)
	}
}

var (
	keyIDs = regexp.MustCompile(`[0-9A-F]{16,}|[0-9A-F]{4}(?: +[0-9A-F]{4}){9}`)
	times  = regexp.MustCompile(`Signature made [^\n]*|\b20\d\d-\d\d-\d\d\b`)
	fresh  = regexp.MustCompile(`(?m)^gpg: (?:keybox|.*trustdb\.gpg: trustdb created|directory).*\n`) // the lines that gpg prints only for an empty home directory
)

// keyless replaces the parts of an output that differ between keys, times and home directories.
func keyless(text, home string) string {
	text = fresh.ReplaceAllString(strings.ReplaceAll(text, home, "HOME"), "")
	return times.ReplaceAllString(keyIDs.ReplaceAllString(text, "KEY"), "TIME")
}
