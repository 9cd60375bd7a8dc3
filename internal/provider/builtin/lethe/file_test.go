//go:build unix

package lethe

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func (r *rig) write(name, content string, mode os.FileMode) string {
	r.t.Helper()
	p := filepath.Join(r.dir, name)
	if err := os.WriteFile(p, []byte(content), mode); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Chmod(p, mode); err != nil { // the umask may have changed the mode of the new file
		r.t.Fatal(err)
	}
	return p
}

func TestFile(t *testing.T) {
	r := newRig(t)
	r.write("key", canary+"\n", 0o600)
	r.write("read-only", canary, 0o400)
	r.write("binary", "\xff\x00"+canary, 0o600)
	r.write("empty", "", 0o600)
	r.write("large", strings.Repeat("x", fileMax), 0o600)
	if err := os.Symlink("key", filepath.Join(r.dir, "link")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"key": canary + "\n", "read-only": canary, "empty": "", "link": canary + "\n", "large": strings.Repeat("x", fileMax),
		filepath.Join(r.dir, "key"): canary + "\n",
	} {
		o := r.mustOpen("lethe_file", map[string]any{"path": path})
		raw, err := base64.StdEncoding.DecodeString(o.text("content_base64"))
		if o.text("content") != want || string(raw) != want || err != nil {
			t.Errorf("%s: %.50q %.50q %v", path, o.text("content"), raw, err)
		}
	}
	o := r.mustOpen("lethe_file", map[string]any{"path": "binary"})
	if raw, _ := base64.StdEncoding.DecodeString(o.text("content_base64")); o.text("content") != "<null>" || string(raw) != "\xff\x00"+canary {
		t.Errorf("binary: %q %q", o.text("content"), raw)
	}
}

func TestFileRefuses(t *testing.T) {
	r := newRig(t)
	cases := map[string]refusal{
		"missing":   {map[string]any{"path": "nope-" + canary}, "error path: Unusable secret file; The file at this path cannot be used: there is no file"},
		"empty":     {map[string]any{"path": ""}, "The path must not be empty"},
		"directory": {map[string]any{"path": "."}, "it is not a regular file"},
		"device":    {map[string]any{"path": "/dev/zero"}, "it is not a regular file"},
		"pipe":      {map[string]any{"path": "pipe"}, "it is not a regular file"},
		"too large": {map[string]any{"path": "large"}, "it is larger than 1 MiB"},
		"in a file": {map[string]any{"path": "large/x"}, "not a directory"},
	}
	if err := syscall.Mkfifo(filepath.Join(r.dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.write("large", strings.Repeat("x", fileMax+1), 0o600)
	for _, mode := range []os.FileMode{0o640, 0o604, 0o644, 0o620, 0o602, 0o601} {
		name := mode.String()
		r.write(name, canary, mode)
		cases[name] = refusal{map[string]any{"path": name}, "users other than its owner can read or write it; run chmod 600"}
	}
	r.refusals("lethe_file", cases)
}

// TestFileTurnedPipe checks that a pipe that replaces the file after the first check does not block.
func TestFileTurnedPipe(t *testing.T) {
	p := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(p, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(p, os.O_RDONLY|noWait, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || checkSecret(info) != errNotRegular {
		t.Errorf("%v %v", info, err)
	}
}
