//go:build unix

package provision

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lethe-iac/lethe/internal/mark"
)

// listing returns a line for each entry below a directory: the mode, the path and, for a file, the content. A content
// of more than 20 bytes is replaced by its length.
func listing(t testing.TB, root string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if d.IsDir() {
			out = append(out, fmt.Sprintf("%o %s/", info.Mode().Perm(), rel))
			return nil
		}
		content, err := os.ReadFile(path)
		if len(content) > 20 {
			content = fmt.Appendf(nil, "%d bytes", len(content))
		}
		out = append(out, fmt.Sprintf("%o %s %s", info.Mode().Perm(), rel, content))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func plant(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		_ = os.MkdirAll(filepath.Dir(path), 0o700)
		mode := fs.FileMode(0o600)
		if strings.HasSuffix(name, ".sh") {
			mode = 0o700
		}
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFile(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	src := plant(t, map[string]string{
		"a": "text", "run.sh": "x", "empty": "", "big": strings.Repeat("0123456789", 100_000),
		"tree/one": "1", "tree/sub/two": "2", "tree/it's $x;\tb*": "odd",
	})
	_ = os.Mkdir(filepath.Join(src, "tree/none"), 0o700)
	_ = os.Symlink("one", filepath.Join(src, "tree/link"))
	_ = os.Symlink("sub", filepath.Join(src, "tree/linkdir"))
	tree := []string{
		"644 it's $x;\tb* odd", "644 link 1", "755 linkdir/", "644 linkdir/two 2", "755 none/", "644 one 1", "755 sub/", "644 sub/two 2",
	}
	below := func(dir string, list []string) []string {
		out := []string{"755 " + dir + "/"}
		for _, l := range list {
			mode, rest, _ := strings.Cut(l, " ")
			out = append(out, mode+" "+dir+"/"+rest)
		}
		return out
	}
	for _, c := range []struct {
		name string
		args map[string]any
		want []string
	}{
		{"content", map[string]any{"content": "x", "destination": "{}/f"}, []string{"644 f x"}},
		{"empty content", map[string]any{"content": "", "destination": "{}/f"}, []string{"644 f "}},
		{"content into a directory", map[string]any{"content": "x", "destination": "{}"}, []string{"644 tf-file-content x"}},
		{"file into a directory", map[string]any{"source": filepath.Join(src, "a"), "destination": "{}/"}, []string{"644 a text"}},
		{"empty file", map[string]any{"source": "empty", "destination": "{}/f"}, []string{"644 f "}},
		{"program", map[string]any{"source": "run.sh", "destination": "{}/f"}, []string{"755 f x"}},
		{"big file", map[string]any{"source": "big", "destination": "{}/f"}, []string{"644 f 1000000 bytes"}},
		{"directory", map[string]any{"source": "tree", "destination": "{}"}, below("tree", tree)},
		{"what is in a directory", map[string]any{"source": "tree/", "destination": "{}"}, tree},
		{"directory to where there is none", map[string]any{"source": "tree", "destination": "{}/new"}, below("new", tree)},
		{"what is in a directory to where there is none", map[string]any{"source": "tree/", "destination": "{}/new/x"}, append([]string{"755 new/"}, below("new/x", tree)...)},
	} {
		t.Run(c.name, func(t *testing.T) {
			dst := t.TempDir()
			d := c.args["destination"].(string)
			c.args["destination"] = strings.ReplaceAll(d, "{}", dst)
			connection := s.connection(t, nil)
			_, ds := tryWith(t, t.Context(), Request{Type: File, Dir: src, Config: mark.Plain(args(Schema(File), c.args)), Connection: mark.Plain(args(ConnectionSchema(), connection))}, connection)
			if diff := cmp.Diff(c.want, listing(t, dst)); diff != "" || ds != nil {
				t.Errorf("%s (-want +got):\n%s", show(ds), diff)
			}
		})
	}
}

func TestOddDestination(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	dst := t.TempDir()
	for _, name := range []string{"it's", "$(touch oops)", "`touch oops`", "a b\tc", "-t", "semi;colon&|<>", `back\slash"quote`, "new\nline", "glob*?[a]", "~", "ünï", "{a,b}", "!x", "#x"} {
		_, ds := try(t, File, map[string]any{"content": name, "destination": filepath.Join(dst, name)}, s.connection(t, nil))
		if b, err := os.ReadFile(filepath.Join(dst, name)); err != nil || string(b) != name || ds != nil {
			t.Errorf("%q: %v %s", name, err, show(ds))
		}
	}
	if entries, _ := os.ReadDir(dst); len(entries) != 14 {
		t.Errorf("%d files", len(entries))
	}
}

func TestEphemeralContentIsPrivate(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	dst := t.TempDir()
	connection := s.connection(t, nil)
	for tag, want := range map[mark.Tag]string{mark.Ephemeral: "600 f " + canary, mark.Sensitive: "644 f " + canary} {
		_ = os.Remove(filepath.Join(dst, "f"))
		config := marked(args(Schema(File), map[string]any{"content": canary, "destination": dst + "/f"}), tag, "content")
		lines, ds := tryWith(t, t.Context(), Request{Type: File, Config: config, Connection: mark.Plain(args(ConnectionSchema(), connection))}, connection)
		if diff := cmp.Diff([]string{want}, listing(t, dst)); diff != "" || ds != nil || lines != nil {
			t.Errorf("%s: %s %q %s", tag, diff, lines, show(ds))
		}
	}
}

func TestHomeDirectory(t *testing.T) {
	t.Parallel()
	home, err := os.UserHomeDir()
	if err != nil {
		t.Skip(err)
	}
	s := startServer(t)
	name := "lethe_test_" + filepath.Base(s.Dir) + fmt.Sprint(s.Port)
	path := filepath.Join(home, name)
	t.Cleanup(func() { os.Remove(path) })
	for _, dest := range []string{name, "~/" + name} {
		_ = os.Remove(path)
		_, ds := try(t, File, map[string]any{"content": "x", "destination": dest}, s.connection(t, nil))
		if b, err := os.ReadFile(path); string(b) != "x" || ds != nil {
			t.Errorf("%s: %v %s", dest, err, show(ds))
		}
	}
}

func TestFileFails(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	src := plant(t, map[string]string{"a": "text", "loop/x": "1", "new/\nline": "x", "socket/x": ""})
	_ = os.Symlink(".", filepath.Join(src, "loop/round"))
	_ = os.Symlink("nowhere", filepath.Join(src, "socket/dangling"))
	if err := syscall.Mkfifo(filepath.Join(src, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	dst := t.TempDir()
	for _, c := range []struct {
		name                 string
		source, dest, detail string
	}{
		{"no source", src + "/nope", dst + "/x", "stat " + src + "/nope: no such file or directory"},
		{"no directory", src + "/a", "/nope/x/y", "Upload failed: scp: /nope/x/y: No such file or directory"},
		{"no directory for a directory", src + "/loop", "/nope/x", "Upload failed: scp: /nope/x: No such file or directory"},
		{"a file for a directory", src + "/loop", src + "/a", "Upload failed: scp: " + src + "/a: Not a directory"},
		{"a pipe", src + "/pipe", dst + "/x", "open " + src + "/pipe: it is neither a file nor a directory"},
		{"a circle", src + "/loop", dst, "Upload failed: copy " + src + "/loop/round: it is a link to a parent directory"},
		{"a link to nowhere", src + "/socket", dst, "Upload failed: stat " + src + "/socket/dangling: no such file or directory"},
		{"a name with a line", src + "/new", dst, `Upload failed: the file name "\nline" cannot be sent`},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, hidden := range []bool{false, true} {
				config := mark.Plain(args(Schema(File), map[string]any{"source": c.source, "destination": c.dest}))
				if hidden {
					config = marked(config.Raw, mark.Ephemeral, "source", "destination")
				}
				connection := s.connection(t, nil)
				_, ds := tryWith(t, t.Context(), Request{Type: File, Config: config, Connection: mark.Plain(args(ConnectionSchema(), connection))}, connection)
				if len(ds) != 1 || ds[0].Summary != "file provisioner error" {
					t.Fatal(show(ds))
				}
				d := ds[0].Detail
				if !hidden && d != c.detail {
					t.Errorf("got %s\nwant %s", d, c.detail)
				}
				if hidden && (strings.Contains(d, src) || strings.Contains(d, "/nope") || strings.Contains(d, dst)) {
					t.Errorf("hidden: %s", d)
				}
			}
		})
	}
}

func TestInterruptOfAnUpload(t *testing.T) {
	s := startServer(t)
	src := t.TempDir()
	big := filepath.Join(src, "big")
	if err := os.WriteFile(big, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(big, 1<<40); err != nil { // a sparse file of 1 TiB needs no space on the disk
		t.Skip(err)
	}
	pipe := filepath.Join(s.Dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	// The first copy is interrupted in the middle. The remote scp does not start the second, because nothing reads the
	// pipe.
	for _, dest := range []string{"/dev/null", pipe} {
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		began := time.Now()
		connection := s.connection(t, nil)
		_, ds := tryWith(t, ctx, Request{Type: File, Config: mark.Plain(args(Schema(File), map[string]any{"source": big, "destination": dest})), Connection: mark.Plain(args(ConnectionSchema(), connection))}, connection)
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%s took %s", dest, took)
		}
		if got := show(ds); !strings.Contains(got, "interrupted") {
			t.Error(got)
		}
	}
	// The writer of the pipe notices the missing reader only after a reader has come and left.
	r, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
}

func TestNoSCP(t *testing.T) {
	t.Parallel()
	s := startServer(t, "ForceCommand sh -c 'echo welcome; exit 5'")
	_, ds := try(t, File, map[string]any{"content": "x", "destination": "/tmp/x"}, s.connection(t, nil))
	if got := show(ds); got != "error file provisioner error; Upload failed: the remote system did not start scp, but answered: welcome" {
		t.Error(got)
	}
	s = startServer(t, "ForceCommand sh -c 'echo no scp here >&2; exit 127'")
	_, ds = try(t, File, map[string]any{"content": "x", "destination": "/tmp/x"}, s.connection(t, nil))
	if got := show(ds); got != "error file provisioner error; Upload failed: no scp here" {
		t.Error(got)
	}
}
