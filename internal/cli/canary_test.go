package cli_test

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/rogpeppe/go-internal/testscript"
)

// Every script is a test of promise 1. Every secret that the playground hands out begins with a
// canary, and so do those that scripts make up; when a script is over, no canary may be in any file
// of its directory, nor in anything that any command of it has printed. The command
// "keeps FILE..." names those files that hold a secret on purpose.

// canaries are they, as they are, in hexadecimal digits, and in base64 at any alignment and twice.
var canaries = regexp.MustCompile(`canary-[0-9a-f]{4}|Y2FuYXJ5LT|YW5hcnkt|bmFyeS[0-3]|63616e6172792d|63616E6172792D|WTJGdVlYSjVMV|kyRnVZWEo1TF|ZMkZ1WVhKNUxU`)

const streams = ".streams"

// recorded writes what goes to a standard stream into a file of the script as well.
func recorded(to *os.File) io.Writer {
	name := os.Getenv("SCRIPT_STREAMS")
	if name == "" {
		return to
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	return io.MultiWriter(to, f)
}

// watch looks for canaries when a script is over.
func watch(e *testscript.Env) {
	kept := &[]string{}
	e.Values["keeps"] = kept
	e.Setenv("SCRIPT_STREAMS", filepath.Join(e.WorkDir, streams))
	e.Setenv("PLAYGROUND_CANARY", "canary-0000")
	plain := plainCanaries(e.WorkDir)
	e.Defer(func() {
		for _, path := range files(e.WorkDir) {
			name, _ := filepath.Rel(e.WorkDir, path)
			text, err := os.ReadFile(path)
			if err != nil || slices.Contains(*kept, name) {
				continue
			}
			for _, found := range canaries.FindAll(inflated(text), -1) {
				if !slices.ContainsFunc(plain, func(p []byte) bool { return bytes.Equal(p, found) }) {
					e.T().Log(name + " holds the secret " + string(found))
					e.T().FailNow()
				}
			}
		}
	})
}

// inflated is a file with what is in it, if it is an archive, as saved plans are.
func inflated(text []byte) []byte {
	z, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		return text
	}
	for _, f := range z.File {
		if r, err := f.Open(); err == nil {
			member, _ := io.ReadAll(r)
			text = append(append(text, '\n'), member...)
		}
	}
	return text
}

// plainCanaries are those that the files of a script hold from the start: they are no secrets.
func plainCanaries(dir string) [][]byte {
	var out [][]byte
	for _, path := range files(dir) {
		text, _ := os.ReadFile(path)
		out = append(out, canaries.FindAll(text, -1)...)
	}
	return out
}

func files(dir string) []string {
	var out []string
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			out = append(out, path)
		}
		return nil
	})
	return out
}

// keeps is the command of that name.
func keeps(ts *testscript.TestScript, _ bool, args []string) {
	kept := ts.Value("keeps").(*[]string)
	*kept = append(*kept, args...)
}
