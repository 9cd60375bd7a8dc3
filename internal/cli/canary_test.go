package cli_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// Every script also tests that no secret persists. Each secret that the playground provider returns begins with a
// canary (a text that marks a secret), and so do the secrets that scripts invent. After a script, no canary may be in
// any file of its directory, nor in the output of any of its commands. The command "keeps FILE..." lists the files and
// directories that contain a secret on purpose.

// canaries are the beginnings of secrets: as plain text, in hexadecimal digits, and in base64 once and twice, at any
// alignment. Plain canaries are followed by four hexadecimal digits.
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

// inBase64 returns the base64 forms of a text at each alignment, without the digits that depend on the bytes around the
// text.
func inBase64(text string) (out []string) {
	for before := range 3 {
		digits := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + text))
		out = append(out, digits[(before*8+5)/6:(before+len(text))*8/6])
	}
	return out
}

var fourDigits = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{4}`) })

// canariesIn returns the canaries in a text. It searches for fixed texts, which is fast, because files such as provider
// programs are large.
func canariesIn(text []byte) (found [][]byte) {
	for i, start := range canaries {
		for rest := text; ; {
			_, after, ok := bytes.Cut(rest, start)
			if !ok {
				break
			}
			if it := fourDigits().Find(after); i > 0 || it != nil {
				found = append(found, append(start[:len(start):len(start)], it...))
			}
			rest = after
		}
	}
	return found
}

const streams = ".streams"

// recorded returns a writer that writes to a stream and also appends to the file $SCRIPT_STREAMS, in which watch
// searches. Outside of scripts, it returns the stream.
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

// watch searches the files of a script for canaries when the script ends, and fails the script if it finds one. It
// ignores canaries that the files contained at the start of the script, and the files of the script command keeps.
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

// inflated returns the contents of a file, followed by its unpacked contents if it is packed, such as a saved plan.
func inflated(text []byte) []byte { return bytes.Join(unpacked(text), []byte{'\n'}) }

// plainCanaries returns the canaries in the files of a script at its start. These canaries are not secret.
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

// keeps implements the script command keeps: its arguments are files and directories that may contain a secret.
func keeps(ts *testscript.TestScript, _ bool, args []string) {
	kept := ts.Value("keeps").(*[]string)
	*kept = append(*kept, args...)
}

// TestCanariesAreFound checks that canariesIn finds secrets as plain text, in hexadecimal digits and in base64.
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
