// Package sheet has the parts that all HTML pages of Lethe share. Each page is one file that loads no other file.
//
// The policy of a page (Content-Security-Policy) permits the style and the script in the page, by their hashes, and
// images in data: URLs. It permits nothing else.
package sheet

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"io"

	"github.com/lethe-iac/lethe/internal/view"
)

//go:embed sheet.css
var style string

// Head writes the beginning of a page, from the doctype to the end of the head element. The caller must escape title.
// The parameter own is the CSS that the page has in addition to the common CSS; it is written verbatim. script is the
// only script that the Content-Security-Policy permits, or "" for a page without a script. Head does not write script:
// the caller writes a script element with exactly this text. Head ignores errors of w, so w should be a bufio.Writer,
// whose Flush returns them.
func Head(w io.Writer, title, own, script string) {
	policy := "'none'"
	if script != "" {
		policy = hash(script)
	}
	fmt.Fprintf(w, `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src %s; script-src %s; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<link rel="icon" href="data:,">
<title>%s</title>
<style>%s</style>
</head>
`, hash(style+own), policy, title, style+own)
}

// Text returns s, such as a name or a message, as HTML on one line. The result may be used as the content of an
// element, and between the quotes of an attribute. Control characters, such as line breaks and tabs, become visible
// escape sequences. If scrub is not nil, Text first replaces s with scrub(s), which masks secrets.
func Text(s string, scrub func(string) string) string {
	if scrub != nil {
		s = scrub(s)
	}
	return html.EscapeString(view.EscapeLine(s))
}

// hash returns the source expression of a Content-Security-Policy that permits exactly this text.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
