package cli_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// absent is the script command that fails if a file contains a match of a regular expression. It reads the files of
// directories, and the contents of zip archives (saved plans) and of gzip data. A path that does not exist is an error.
//
//	absent canary-51c7                          # no file below the current directory
//	absent -except=.calls,*.sh canary-51c7 sub  # no other file below sub
//	absent -only=*.html canary-51c7             # no page
func absent(ts *testscript.TestScript, neg bool, args []string) {
	flags := flag.NewFlagSet("absent", flag.ContinueOnError)
	except := flags.String("except", "", "patterns for names of files and directories that may contain it, with commas")
	only := flags.String("only", "*", "patterns for names of the files that are read, with commas")
	err := flags.Parse(args)
	if err != nil || neg || flags.NArg() == 0 {
		ts.Fatalf("usage: absent [-except=NAMES] [-only=NAMES] EXPRESSION [PATH...]: %v", err)
	}
	expression, err := regexp.Compile(flags.Arg(0))
	ts.Check(err)
	paths := flags.Args()[1:]
	if len(paths) == 0 {
		paths = []string{"."}
	}
	for _, top := range paths {
		found, err := matches(ts.MkAbs(top), expression, strings.Split(*except, ","), strings.Split(*only, ","))
		ts.Check(err)
		if len(found) > 0 {
			ts.Fatalf("%s is in %s", expression, strings.Join(found, ", "))
		}
	}
}

// matches returns the names of the files at or below top whose content matches the expression. It reads only files
// whose names match a pattern in only and no pattern in except, and skips directories whose names match a pattern in
// except. It does not follow symbolic links below top.
func matches(top string, expression *regexp.Regexp, except, only []string) (found []string, err error) {
	err = filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		is := func(pattern string) bool { matched, _ := filepath.Match(pattern, entry.Name()); return matched }
		switch {
		case err != nil:
			return err
		case slices.ContainsFunc(except, is) && entry.IsDir():
			return fs.SkipDir
		case slices.ContainsFunc(except, is), !slices.ContainsFunc(only, is), !entry.Type().IsRegular():
			return nil
		}
		content, err := os.ReadFile(path)
		if err == nil && slices.ContainsFunc(unpacked(content), expression.Match) {
			found = append(found, path)
		}
		return err
	})
	return found, err
}

// unpacked returns the content of a file and, if the file is a zip archive or gzip data, also its unpacked contents.
func unpacked(content []byte) [][]byte {
	all := [][]byte{content}
	if archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content))); err == nil {
		for _, f := range archive.File {
			if r, err := f.Open(); err == nil {
				inner, _ := io.ReadAll(r)
				all = append(all, unpacked(inner)...)
			}
		}
	}
	if r, err := gzip.NewReader(bytes.NewReader(content)); err == nil {
		inner, _ := io.ReadAll(r) // up to the first damaged byte
		all = append(all, unpacked(inner)...)
	}
	return all
}

// TestAbsent checks that absent finds an expression in every place where a secret could be.
func TestAbsent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var zipped, gzipped bytes.Buffer
	archive := zip.NewWriter(&zipped)
	w, err := archive.Create("tfplan")
	if err == nil {
		_, err = w.Write(bytes.Repeat([]byte("canary-51c7 "), 50))
	}
	if err = errors.Join(err, archive.Close()); err != nil {
		t.Fatal(err)
	}
	compressed := gzip.NewWriter(&gzipped)
	if _, err := compressed.Write(zipped.Bytes()); err != nil || compressed.Close() != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"plain/.state": []byte("x canary-51c7 y"), "zip/p": zipped.Bytes(), "gzip/p.gz": gzipped.Bytes(),
		"clean/a": []byte("x canary-51 y"), "clean/link/calls": []byte("canary-51c7"), "clean/b.sh": []byte("canary-51c7"),
	} {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, content, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		below, except, only string
		count               int
	}{
		{below: "plain", only: "*", count: 1}, {below: "zip", only: "*", count: 1}, {below: "gzip", only: "*", count: 1},
		{below: ".", only: "*", count: 5}, {below: "clean", only: "*", except: "link,*.sh"}, {below: "clean", only: "*", except: "calls", count: 1},
		{below: "clean", only: "a,b"}, {below: "clean", only: "a,b.*", count: 1}, {below: "plain/.state", only: "*", count: 1},
	} {
		found, err := matches(filepath.Join(dir, c.below), regexp.MustCompile("canary-51c7"), strings.Split(c.except, ","), strings.Split(c.only, ","))
		if err != nil || len(found) != c.count {
			t.Errorf("%+v: found in %q, %v", c, found, err)
		}
	}
	if _, err := matches(filepath.Join(dir, "missing"), regexp.MustCompile("x"), nil, []string{"*"}); err == nil {
		t.Error("a missing path is no error")
	}
}
