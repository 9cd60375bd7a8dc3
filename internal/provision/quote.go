package provision

import (
	"crypto/rand"
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/lethe-iac/lethe/internal/sshconn"
	"github.com/lethe-iac/lethe/internal/subprocess"
)

// platform is the kind of system on the target: unix, or windows.
type platform bool

const (
	unix    platform = false
	windows platform = true
)

const errUnquotable = sshconn.Fixed("the path has characters that cannot be passed on to the remote system")

// quote returns a path as a word of a remote command line. The remote shell reads the word as one argument without
// expansion. The word does not begin with a hyphen. quote returns an error for a path that is empty or contains a
// character that cannot be quoted.
func (p platform) quote(path string) (string, error) {
	switch {
	case path == "" || strings.ContainsRune(path, 0):
		return "", errUnquotable
	case strings.HasPrefix(path, "-"):
		path = "./" + path
	}
	if strings.IndexFunc(path, func(r rune) bool { return !p.safe(r) }) < 0 {
		return path, nil
	}
	if p == unix {
		return subprocess.Quote(path), nil
	}
	// cmd.exe and PowerShell have no common way to quote characters other than spaces.
	if strings.ContainsFunc(path, func(r rune) bool { return strings.ContainsRune("\"%!^&|<>$`*?'\n\r", r) || r < ' ' }) {
		return "", errUnquotable
	}
	return `"` + path + `"`, nil
}

// safe reports whether a character has no special meaning in any shell.
func (p platform) safe(r rune) bool {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-:", r) {
		return true
	}
	return p == windows && r == '\\' || p == unix && strings.ContainsRune("@,+", r)
}

// program returns the word of a command line that runs a file on the target. A path without a directory gets "./" on
// unix: otherwise the shell would search the directories in PATH.
func (p platform) program(path string) (string, error) {
	if p == unix && !strings.Contains(path, "/") {
		path = "./" + path
	}
	if p == windows {
		path = strings.ReplaceAll(path, "/", `\`)
	}
	return p.quote(path)
}

// remove returns the command that removes a file.
func (p platform) remove(path string) (string, error) {
	if p == windows {
		word, err := p.quote(strings.ReplaceAll(path, "/", `\`))
		return "del " + word, err
	}
	word, err := p.quote(path)
	return "rm -f " + word, err
}

// home makes a path in the home directory relative, because shells do not expand quoted words and remote programs start
// in the home directory.
func (p platform) home(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && p == unix && strings.Trim(rest, "/") != "" {
		return strings.TrimLeft(rest, "/")
	}
	if p == unix && (path == "~" || path == "~/") {
		return "."
	}
	return path
}

// random is the part of a configured path that is replaced by random digits.
const random = "%RAND%"

// script returns the path of a script on the remote system, made from the configured path pattern ("": a default).
func (p platform) script(pattern string) string {
	switch {
	case pattern != "":
	case p == windows:
		pattern = "C:/windows/temp/terraform_%RAND%.cmd"
	default:
		pattern = "/tmp/terraform_%RAND%.sh"
	}
	var b [8]byte
	_, _ = rand.Read(b[:]) // this Read returns no errors
	return p.home(strings.ReplaceAll(pattern, random, strconv.FormatUint(binary.BigEndian.Uint64(b[:])>>1, 10)))
}
