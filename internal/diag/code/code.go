// Package code assigns a code to each diagnostic of Lethe, and a page to each code. The page shows the mistake, the
// message and the correction.
//
// Other packages write titles without codes. The first lines of each page list the titles that have the code of the
// page:
//
//	---
//	titles:
//	- Reference to undeclared input variable
//	unshown:
//	- Some other title -- why no example on the page shows it
//	---
//
// An asterisk in a title represents a part that varies. A page can describe several titles of one family. Codes are
// stable: a title keeps its code, and the code of a removed page is not used again (testdata/codes.txt lists all
// codes).
package code

import (
	"bufio"
	"embed"
	"io"
	"slices"
	"strings"
	"sync"
)

//go:embed pages/*.md
var files embed.FS

// Page is the description of a code.
type Page struct {
	Code    string            // such as "LE0301"
	Titles  []string          // the titles, with asterisks for parts that vary; titles with an example first
	Unshown map[string]string // titles without an example on the page, with the reason
	Head    string            // the heading of the page
	Text    string            // the page in Markdown, without front matter and heading
}

// Has reports whether the page describes a title.
func (p *Page) Has(title string) bool {
	return slices.ContainsFunc(p.Titles, func(t string) bool { return matches(t, title) })
}

// Of returns the code of the page that lists this title, or "" if no page lists it.
func Of(title string) string {
	x := titles()
	if c := x.exact[title]; c != "" {
		return c
	}
	for _, p := range x.patterns {
		if matches(p.title, title) {
			return p.code
		}
	}
	return ""
}

// Find returns the page of a code, in large or small letters, or nil if the code does not exist.
func Find(code string) *Page {
	all := pages()
	i, ok := slices.BinarySearchFunc(all, strings.ToUpper(code), func(p *Page, c string) int { return strings.Compare(p.Code, c) })
	if !ok {
		return nil
	}
	return all[i]
}

// All returns all pages, sorted by code.
func All() []*Page { return slices.Clone(pages()) }

// pages reads all pages at the first call.
var pages = sync.OnceValue(func() (all []*Page) {
	each(func(p *Page, text *bufio.Reader) {
		rest, err := io.ReadAll(text)
		if err != nil {
			panic(err) // the pages are embedded in the program, so they can always be read
		}
		head, body, _ := strings.Cut(strings.TrimSpace(string(rest)), "\n")
		p.Head = strings.TrimPrefix(head, "# ")
		p.Text = strings.TrimSpace(body) + "\n"
		all = append(all, p)
	})
	return all
})

type indexed struct {
	exact    map[string]string
	patterns []pattern // sorted by length, longer patterns first
}

type pattern struct{ title, code string }

// titles reads the front matter of all pages at the first call. It does not read the whole pages: they are long, and
// nearly every command that prints a message needs the code of a title.
var titles = sync.OnceValue(func() *indexed {
	x := &indexed{exact: map[string]string{}}
	each(func(p *Page, _ *bufio.Reader) {
		for _, t := range p.Titles {
			if strings.Contains(t, "*") {
				x.patterns = append(x.patterns, pattern{t, p.Code})
			} else {
				x.exact[t] = p.Code
			}
		}
	})
	slices.SortStableFunc(x.patterns, func(a, b pattern) int { return len(b.title) - len(a.title) })
	return x
})

// each calls do for each page, in the order of the codes. p has the front matter of the page, and text reads the rest
// of the page.
func each(do func(p *Page, text *bufio.Reader)) {
	entries, err := files.ReadDir("pages")
	if err != nil {
		panic(err) // the pages are embedded in the program, so they can always be read
	}
	r := bufio.NewReaderSize(nil, 1<<10)
	for _, e := range entries {
		f, err := files.Open("pages/" + e.Name())
		if err != nil {
			panic(err)
		}
		r.Reset(f)
		p := &Page{Code: strings.TrimSuffix(e.Name(), ".md"), Unshown: map[string]string{}}
		p.front(r)
		do(p, r)
	}
}

// front reads the front matter at the beginning of r into p.
func (p *Page) front(r *bufio.Reader) {
	unshown := false
	for begun := false; ; begun = true {
		line, err := r.ReadString('\n')
		line = strings.TrimSuffix(line, "\n")
		item, isItem := strings.CutPrefix(line, "- ")
		switch {
		case err != nil, begun && line == "---":
			return
		case !isItem:
			unshown = line == "unshown:"
		case unshown:
			title, why, _ := strings.Cut(item, " -- ")
			p.Titles = append(p.Titles, title)
			p.Unshown[title] = why
		default:
			p.Titles = append(p.Titles, item)
		}
	}
}

// matches reports whether a title matches a pattern. An asterisk in the pattern matches any text.
func matches(pattern, title string) bool {
	first, rest, some := strings.Cut(pattern, "*")
	if !some {
		return pattern == title
	}
	title, ok := strings.CutPrefix(title, first)
	for ok && strings.Contains(rest, "*") {
		var word string
		word, rest, _ = strings.Cut(rest, "*")
		_, title, ok = strings.Cut(title, word)
	}
	return ok && strings.HasSuffix(title, rest)
}
