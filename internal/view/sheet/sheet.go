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

// Head writes the head of a page. The caller must escape title. own is the style that the page has in addition to the
// common style. script is the script that the policy permits, or "" for a page without a script. Head does not write
// it.
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

// Text returns a text from outside on one line as HTML. It may be used in an attribute. If scrub is not nil, it is
// applied to the text first.
func Text(s string, scrub func(string) string) string {
	if scrub != nil {
		s = scrub(s)
	}
	return html.EscapeString(view.EscapeLine(s))
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
