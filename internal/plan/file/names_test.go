package file

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestFileNames: a plan file keeps every name of a configuration file. The names of archive members have only
// characters that every system permits.
func TestFileNames(t *testing.T) {
	c := full(t)
	var names []string
	for _, name := range []string{"a:b.tf", `c\d.tf`, "e\xff.tf", "f%3A.tf", "g%.tf", "%5c.tf", "h\n.tf", "i �.tf", "tests/j:k.tftest.hcl", "ü.tf"} {
		c.Config[0].Files[name] = []byte("# " + name)
		names = append(names, name)
	}
	for b := range 256 {
		if name := "x" + string([]byte{byte(b)}) + "y.tf"; b != 0 && b != '/' {
			c.Config[0].Files[name] = nil
			names = append(names, name)
		}
	}
	data := write(t, c)
	got, msg := readBack(data)
	if got == nil {
		t.Fatal(msg)
	}
	have := slices.Collect(maps.Keys(got.Config[0].Files))
	for _, name := range names {
		if !slices.Contains(have, name) {
			t.Errorf("the file %q is missing", name)
		}
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range z.File {
		if !fs.ValidPath(f.Name) || !utf8.ValidString(f.Name) || strings.ContainsAny(f.Name, "\\:\n") {
			t.Errorf("the archive has the name %q", f.Name)
		}
	}
}
