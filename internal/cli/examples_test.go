package cli_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/sshconn/sshdtest"
)

const examplesDir = "../../examples"

// exampleCase describes the secrets of one example, a directory in examples.
type exampleCase struct {
	// env contains the planted secrets: variables of the environment with their values.
	env map[string]string
	// kept are the files that contain a secret on purpose. Each of these files must exist at some time during the run.
	kept []string
	// starts are the beginnings of secrets that a server of the test issues.
	starts []string
	// read returns the secrets in a kept file, if no secret is planted.
	read func(content string) []string
	// server skips the test if a program is missing, and returns settings for run.sh.
	server func(t *testing.T) []string
}

var exampleCases = map[string]exampleCase{
	"quickstart":          {kept: []string{"app.password"}, read: wholeFile},
	"write-only-password": {kept: []string{"db.password"}, read: wholeFile},
	"lease-from-command":  {env: map[string]string{"DEMO_TOKEN": "canary-51c7a0b3"}},
	"lease-from-vault": {
		env: map[string]string{"DB_PASSWORD": "canary-51c7a0b4"}, kept: []string{"db.password"},
		server: vaultServer, starts: []string{vaultRoot, "canary-51c7-token"},
	},
	"postgres-backend": {
		env:    map[string]string{"TF_VAR_passphrase": "canary-51c7-passphrase", "TF_VAR_token": "canary-51c7a0b5"},
		server: postgresPrograms,
	},
	"ssh-tunnel": {kept: []string{"user.key"}, read: privateKey, server: func(t *testing.T) []string {
		if sshdtest.Installed() == "" {
			t.Skip("there is no OpenSSH server (Debian: openssh-server)")
		}
		return nil
	}},
	"tests-with-mocks": {kept: []string{"app.tftest.hcl"}, read: mockedPassword},
	"ephemeral-outputs": {
		env:  map[string]string{"TF_VAR_access_key": "canary-51c7a0b6", "TF_VAR_secret_key": "canary-51c7a0b7"},
		kept: []string{"keys.secret", "read/credentials.secret"},
	},
}

func wholeFile(content string) []string { return []string{strings.TrimSpace(content)} }

// privateKey returns the lines of an OpenSSH key that the public key does not contain.
func privateKey(content string) []string { return strings.Split(content, "\n")[3:5] }

// mockedPassword returns the password in a test file.
func mockedPassword(content string) []string {
	_, after, _ := strings.Cut(content, `defaults = { password = "`)
	password, _, _ := strings.Cut(after, `"`)
	return []string{password}
}

func postgresPrograms(t *testing.T) []string {
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pg_ctl"); len(found) == 0 {
		needPrograms(t, "pg_ctl")
	}
	needPrograms(t, "psql")
	if os.Getuid() == 0 {
		needPrograms(t, "setpriv")
	}
	return nil
}

// vaultServer returns the address of a server with the API of Vault, if run.sh finds no installed program to start.
func vaultServer(t *testing.T) []string {
	needPrograms(t, "curl")
	for _, name := range []string{"bao", "vault"} {
		if _, err := exec.LookPath(name); err == nil {
			return nil
		}
	}
	return []string{"VAULT_ADDR=" + startVault(t), "VAULT_TOKEN=" + vaultRoot}
}

func needPrograms(t *testing.T, names ...string) {
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("the example needs %s: %v", name, err)
		}
	}
}

// TestExamples runs the commands in the README of each example and compares the output with the README. It runs them
// twice, because the commands at the end of a README must clean up. The second run writes a log with all details. After
// each command, no file, stream or log may contain a secret. UPDATE_SCRIPTS=1 writes the current output into the
// READMEs.
func TestExamples(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the examples use a POSIX shell")
	}
	list, err := os.ReadFile(filepath.Join(examplesDir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(examplesDir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
			if !strings.Contains(string(list), "]("+e.Name()+"/README.md)") {
				t.Errorf("examples/README.md does not list %s", e.Name())
			}
		}
	}
	if known := slices.Sorted(maps.Keys(exampleCases)); !slices.Equal(names, known) {
		t.Fatalf("the directories are %s, this test knows %s", names, known)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runExample(t, name, exampleCases[name])
		})
	}
}

func runExample(t *testing.T, name string, ex exampleCase) {
	page := filepath.Join(examplesDir, name, "README.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(text, []byte("\n")); n > 40 {
		t.Errorf("%s has %d lines, at most 40 are useful", page, n)
	}
	var settings []string
	if ex.server != nil {
		settings = ex.server(t)
	}
	base, err := os.MkdirTemp("", "ex") // a short path, because the directory contains sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	if err := os.Chmod(base, 0o755); err != nil { // the user of a PostgreSQL server must be able to enter the directory
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(base, name) }
	if err := os.CopyFS(in("example"), tracked(t, filepath.Join(examplesDir, name))); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"home", "tmp"} {
		if err := os.Mkdir(in(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	settings = append(settings, "HOME="+in("home"), "TMPDIR="+in("tmp"), "SCRIPT_STREAMS="+in("streams"))
	secrets := slices.Clone(ex.starts)
	for variable, secret := range ex.env {
		settings = append(settings, variable+"="+secret)
		secrets = append(secrets, secret)
	}
	original, ignored := files(in("example")), ignoredExampleFiles(t)
	kept := func(rel string) bool {
		rel, inside := strings.CutPrefix(filepath.ToSlash(rel), "example/")
		return inside && slices.Contains(ex.kept, rel)
	}
	matched := map[string]bool{}
	observe := func(output string) {
		appendTo(t, in("output"), output+"\n")
		for _, file := range files(in("example")) {
			rel, _ := filepath.Rel(in("example"), file)
			if !slices.Contains(original, file) && !ignored(filepath.ToSlash(rel)) {
				t.Errorf("a run leaves the file %s, which examples/.gitignore does not list", rel)
			}
			if !kept(filepath.Join("example", rel)) {
				continue
			}
			matched[rel] = true
			if content, err := os.ReadFile(file); err != nil {
				t.Error(err)
			} else if ex.read != nil {
				secrets = append(secrets, ex.read(string(content))...)
			}
		}
		slices.Sort(secrets)
		secrets = slices.Compact(secrets)
		for _, leak := range leaks(base, secrets, kept) { // search after each command, because a later command may remove the file
			t.Error(leak)
		}
	}

	g := &guide{t: t, page: page, dir: in("example"), env: settings, observe: observe}
	now := g.run(string(text))
	if os.Getenv("UPDATE_SCRIPTS") != "" && now != string(text) {
		text = []byte(now)
		if err := os.WriteFile(page, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	g.env = append(settings, "TF_LOG=trace", "TF_LOG_PATH="+in("log"))
	g.run(string(text))

	if len(secrets) == 0 || len(matched) != len(ex.kept) {
		t.Fatalf("%d secrets are known, and %d of the files %s were there", len(secrets), len(matched), ex.kept)
	}
	for _, name := range []string{"log", "streams"} {
		if info, err := os.Stat(in(name)); err != nil || info.Size() == 0 {
			t.Errorf("no %s was written: %v", name, err)
		}
	}
}

func appendTo(t *testing.T, name, text string) {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// leaks returns the files below a directory that contain a secret as plain text, in hexadecimal digits or in base64.
func leaks(dir string, secrets []string, kept func(rel string) bool) (found []string) {
	for _, file := range files(dir) {
		rel, _ := filepath.Rel(dir, file)
		text, err := os.ReadFile(file)
		if err != nil {
			found = append(found, err.Error())
			continue
		}
		text = inflated(text)
		for i, secret := range secrets {
			digits := hex.EncodeToString([]byte(secret))
			for _, form := range append(inBase64(secret), secret, digits, strings.ToUpper(digits)) {
				if !kept(rel) && bytes.Contains(text, []byte(form)) {
					found = append(found, fmt.Sprintf("%s contains secret %d as %s", rel, i, form))
				}
			}
		}
	}
	return found
}

// TestLeaksAreFound checks that leaks finds a secret in each form, except in kept files.
func TestLeaksAreFound(t *testing.T) {
	dir := t.TempDir()
	forms := append(inBase64("a-secret-1"), "a-secret-1", "612d7365637265742d31", "612D7365637265742D31")
	for i, form := range forms {
		appendTo(t, filepath.Join(dir, fmt.Sprint(i)), "before"+form+"after")
	}
	if found := leaks(dir, []string{"a-secret-1"}, func(rel string) bool { return rel == "0" }); len(found) != len(forms)-1 {
		t.Errorf("found %q", found)
	}
}

// ignoredExampleFiles returns a function that reports whether examples/.gitignore lists a file, or a directory if the
// path ends in a slash.
func ignoredExampleFiles(t testing.TB) func(rel string) bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(examplesDir, ".gitignore"))
	if err != nil {
		t.Fatal(err)
	}
	return func(rel string) bool {
		parts := strings.Split(rel, "/")
		for pattern := range strings.Lines(string(text)) {
			pattern, isDir := strings.CutSuffix(strings.TrimSpace(pattern), "/")
			for i, part := range parts {
				if match, _ := path.Match(pattern, part); match && (i < len(parts)-1 || !isDir) {
					return true
				}
			}
		}
		return false
	}
}

// tracked returns the files of a directory in examples, without leftovers of an earlier run.
func tracked(t testing.TB, dir string) fs.FS {
	t.Helper()
	return trackedFiles{os.DirFS(dir), ignoredExampleFiles(t)}
}

type trackedFiles struct {
	fs.FS
	ignored func(rel string) bool
}

func (f trackedFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := fs.ReadDir(f.FS, name)
	return slices.DeleteFunc(all, func(e fs.DirEntry) bool {
		rel := path.Join(name, e.Name())
		if e.IsDir() {
			rel += "/"
		}
		return f.ignored(rel)
	}), err
}
