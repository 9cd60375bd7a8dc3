package funcs

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPathsOfWindows checks that functions return the separators that Terraform returns on Windows: slashes from
// abspath and fileset, backslashes from dirname and pathexpand. All functions accept both.
func TestPathsOfWindows(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", "")
	t.Setenv("USERPROFILE", `C:\Users\me`)
	for _, name := range []string{`sub\a.txt`, `sub\deep\b.txt`} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("one\r\ntwo ${x}\r\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	slashed := filepath.ToSlash(dir)
	env := &Env{BaseDir: dir}
	ctx := peerContext(t)
	ctx.Functions = Table(env)
	for expr, want := range map[string]string{
		`abspath("sub/a")`:                                slashed + "/sub/a",
		`abspath("sub\\a")`:                               slashed + "/sub/a",
		`abspath("/a")`:                                   filepath.VolumeName(dir) + "/a",
		`abspath("D:\\a\\..\\b")`:                         "D:/b",
		`abspath("\\\\server\\share\\x")`:                 "//server/share/x",
		`dirname("a/b/c")`:                                `a\b`,
		`basename("a\\b")`:                                "b",
		`pathexpand("~/x")`:                               `C:\Users\me\x`,
		`pathexpand("a/b")`:                               "a/b",
		`join(" ", fileset(".", "**"))`:                   "sub/a.txt sub/deep/b.txt",
		`join(" ", fileset("sub", "*.txt"))`:              "a.txt",
		`join(" ", fileset("sub\\deep", "*"))`:            "b.txt",
		`file("sub\\a.txt")`:                              "one\r\ntwo ${x}\r\n",
		`templatefile("sub/deep/b.txt", { x = "three" })`: "one\r\ntwo three\r\n",
		`fileexists("SUB/A.TXT") ? "yes" : "no"`:          "yes",
	} {
		v, diags := eval(ctx, expr)
		if diags.HasErrors() {
			t.Errorf("%s: %s", expr, diags)
		} else if got := v.AsString(); got != want {
			t.Errorf("%s = %q, not %q", expr, got, want)
		}
	}
}
