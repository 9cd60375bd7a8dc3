package cli_test

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// Every script is a test of promise 1. Every secret that the playground hands out begins with a
// canary, and so do those that scripts make up; when a script is over, no canary may be in any file
// of its directory, nor in anything that any command of it has printed. The command
// "keeps FILE..." names those files and directories that hold a secret on purpose.

// canaries are what secrets begin with: as they are, in hexadecimal digits, and in base64 at any alignment, once and
// twice. A canary as it is has four hexadecimal digits after that.
var canaries = func() [][]byte {
	out := []string{"canary-", fmt.Sprintf("%x", "canary-"), fmt.Sprintf("%X", "canary-")}
	for _, once := range inBase64("canary-") {
		out = append(append(out, once), inBase64(once)...)
	}
	texts := make([][]byte, len(out))
	for i, s := range out {
		texts[i] = []byte(s)
	}
	return texts
}()

// inBase64 is what a text becomes in base64, without the digits that depend on what stands before or after it.
func inBase64(text string) (out []string) {
	for before := range 3 {
		digits := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + text))
		out = append(out, digits[(before*8+5)/6:(before+len(text))*8/6])
	}
	return out
}

var fourDigits = regexp.MustCompile(`^[0-9a-f]{4}`)

// canariesIn finds them in a text. The programs of providers are large, so it looks for fixed texts.
func canariesIn(text []byte) (found [][]byte) {
	for i, start := range canaries {
		for rest := text; ; {
			_, after, ok := bytes.Cut(rest, start)
			if !ok {
				break
			}
			if it := fourDigits.Find(after); i > 0 || it != nil {
				found = append(found, append(start[:len(start):len(start)], it...))
			}
			rest = after
		}
	}
	return found
}

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
			if err != nil || slices.ContainsFunc(*kept, func(k string) bool { return name == k || strings.HasPrefix(name, k+"/") }) {
				continue
			}
			for _, found := range canariesIn(inflated(text)) {
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
		out = append(out, canariesIn(text)...)
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

// TestCanariesAreFound: what looks for secrets after each script finds them in each form.
func TestCanariesAreFound(t *testing.T) {
	const secret = "canary-0a1b"
	b64 := base64.StdEncoding.EncodeToString
	forms := []string{secret, fmt.Sprintf("%x", secret), fmt.Sprintf("%X", secret)}
	for _, before := range []string{"", "x", "xy"} {
		once := b64([]byte(before + secret))
		forms = append(forms, once, b64([]byte(once)), b64([]byte("x"+once)), b64([]byte("xy"+once)))
	}
	for _, form := range forms {
		if len(canariesIn([]byte("before "+form+" after"))) == 0 {
			t.Errorf("%q is not found", form)
		}
	}
	if found := canariesIn([]byte("canary-xyz and canary-")); found != nil {
		t.Errorf("found %q", found)
	}
}
