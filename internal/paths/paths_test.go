package paths_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/paths"
)

// tree creates directories and links, and returns the real path of the top.
func tree(t *testing.T) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("its kernel takes .. away as text")
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"a/b/c", "d/e", "a/\xfe \"'"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Skip(err) // the file system accepts only UTF-8
		}
	}
	for name, to := range map[string]string{
		"a/b/up": "..", "a/far": "../d/e", "d/back": "../a/b/c", "d/e/two": "../back", "abs": filepath.Join(top, "a/b"), "a/b/c/none": "nowhere",
	} {
		if err := os.Symlink(to, filepath.Join(top, name)); err != nil {
			t.Fatal(err)
		}
	}
	return top
}

// names are the parts of random paths in the tree.
var names = []string{"a", "b", "c", "d", "e", "far", "up", "back", "two", "abs", "..", ".", "", "\xfe \"'", "none"}

// TestLeadsWhereTheKernelGoes compares In and Follow with the kernel for random paths.
func TestLeadsWhereTheKernelGoes(t *testing.T) {
	top := tree(t)
	r, exists := rand.New(rand.NewPCG(1, 2)), 0
	for range 20000 {
		dir := filepath.Join(top, []string{"", "a", "a/b/c", "d/e"}[r.IntN(4)])
		parts := make([]string, 1+r.IntN(6))
		for i := range parts {
			parts[i] = names[r.IntN(len(names))]
		}
		path := strings.Join(parts, "/")
		if path == "" || strings.HasPrefix(path, "/") {
			path = "./" + path
		}
		want, err := os.Stat(dir + "/" + path)
		if err != nil {
			continue
		}
		exists++
		in := paths.In(dir, path)
		if is, err := os.Stat(in); err != nil || !os.SameFile(is, want) || !filepath.IsAbs(in) || filepath.Clean(in) != in {
			t.Fatalf("In(%q, %q) = %q: %v", dir, path, in, err)
		}
		led := paths.Follow(dir, path)
		at := led
		if !filepath.IsAbs(led) {
			at = dir + "/" + led
		}
		if is, err := os.Stat(at); err != nil || !os.SameFile(is, want) {
			t.Fatalf("Follow(%q, %q) = %q: %v", dir, path, led, err)
		}
		if real, err := filepath.EvalSymlinks(at); err != nil || real != filepath.Join(dir, led) && real != led {
			t.Fatalf("Follow(%q, %q) = %q has links: %v", dir, path, led, err)
		}
	}
	if exists < 1000 {
		t.Fatalf("only %d paths led anywhere", exists)
	}
}

func TestForms(t *testing.T) {
	top := tree(t)
	for _, tt := range []struct{ got, want string }{
		{paths.In(top, ""), ""},
		{paths.In(top, "x/../y"), filepath.Join(top, "y")},
		{paths.In(top, "a/far"), filepath.Join(top, "a/far")}, // a link keeps its name unless ".." follows the link
		{paths.In(top, "a/far/.."), filepath.Join(top, "d")},
		{paths.In("/elsewhere", top+"/a/far/../x"), filepath.Join(top, "d/x")},
		{paths.Text(top, "a/far/../x"), filepath.Join(top, "a/x")},
		{paths.Text(top, ""), top},
		{paths.Follow(top, "a/far"), "d/e"},
		{paths.Follow(top+"/a", "far"), "../d/e"},
		{paths.Follow(top+"/a", "../a/b"), "../a/b"}, // a path is unchanged if no link is in it
		{paths.Follow(top, "abs/c"), filepath.Join(top, "a/b/c")},
		{paths.Follow(top, "none/x"), "none/x"},
		{paths.Follow(top, "."), "."},
	} {
		if tt.got != tt.want {
			t.Errorf("%q, want %q", tt.got, tt.want)
		}
	}
	if real, err := paths.Real(top + "/a/far/../back"); err != nil || real != filepath.Join(top, "a/b/c") {
		t.Errorf("%q, %v", real, err)
	}
}
