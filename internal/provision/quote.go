package provision

import (
	"crypto/rand"
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/lethe-iac/lethe/internal/sshconn"
)

// platform is the kind of system at the other end.
type platform bool

const (
	unix    platform = false
	windows platform = true
)

const errUnquotable = sshconn.Fixed("the path has characters that cannot be passed on to the remote system")

// quote makes a word of a remote command line out of a path, so that the remote shell sees it as
// one argument and finds nothing in it to expand. The word does not begin with a hyphen.
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
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'", nil
	}
	// cmd.exe and PowerShell have no common way to quote more than spaces.
	if strings.ContainsFunc(path, func(r rune) bool { return strings.ContainsRune("\"%!^&|<>$`*?'\n\r", r) || r < ' ' }) {
		return "", errUnquotable
	}
	return `"` + path + `"`, nil
}

// safe characters mean themselves to every shell.
func (p platform) safe(r rune) bool {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-:", r) {
		return true
	}
	return p == windows && r == '\\' || p == unix && strings.ContainsRune("@,+", r)
}

// program is the word that runs the file: without a directory it would be looked for elsewhere.
func (p platform) program(path string) (string, error) {
	if p == unix && !strings.Contains(path, "/") {
		path = "./" + path
	}
	if p == windows {
		path = strings.ReplaceAll(path, "/", `\`)
	}
	return p.quote(path)
}

// remove is the command that removes the file.
func (p platform) remove(path string) (string, error) {
	if p == windows {
		word, err := p.quote(strings.ReplaceAll(path, "/", `\`))
		return "del " + word, err
	}
	word, err := p.quote(path)
	return "rm -f " + word, err
}

// home makes a path in the home directory relative, which is where remote programs start: shells
// do not expand what is quoted.
func (p platform) home(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && p == unix && strings.Trim(rest, "/") != "" {
		return strings.TrimLeft(rest, "/")
	}
	if p == unix && (path == "~" || path == "~/") {
		return "."
	}
	return path
}

// random stands for random digits in the pattern of a path.
const random = "%RAND%"

// script is the path of a script on the remote system, made from the configured pattern.
func (p platform) script(pattern string) string {
	switch {
	case pattern != "":
	case p == windows:
		pattern = "C:/windows/temp/terraform_%RAND%.cmd"
	default:
		pattern = "/tmp/terraform_%RAND%.sh"
	}
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return p.home(strings.ReplaceAll(pattern, random, strconv.FormatUint(binary.BigEndian.Uint64(b[:])>>1, 10)))
}
