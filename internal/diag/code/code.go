// Package code gives each diagnostic of the product a code, and each code a page that shows the
// mistake, the message and the mending.
//
// Rooms write plain titles; the pages say which code a title has, in their first lines:
//
//	---
//	titles:
//	- Reference to undeclared input variable
//	unshown:
//	- Some other title -- why no example on the page shows it
//	---
//
// A title may have parts that are made while the program runs; an asterisk stands for such a part.
// A page can be about several titles of one family. Codes are stable: a title keeps its code, and
// the code of a page that is gone is not given to another (testdata/codes.txt is the memory).
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

// Page is what there is to know about a code.
type Page struct {
	Code    string            // "LE0301"
	Titles  []string          // with asterisks for what varies, those with an example first
	Unshown map[string]string // titles without an example on the page, with the reason
	Head    string            // what it is about, in a few words
	Text    string            // the page in Markdown, without front matter and heading
}

// Has reports whether a title is one of the page's.
func (p *Page) Has(title string) bool {
	return slices.ContainsFunc(p.Titles, func(t string) bool { return matches(t, title) })
}

// Of gives the code of a diagnostic with this title, "" if it has none.
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

// Find gives the page of a code; it may be written in small letters. Nil: there is no such code.
func Find(code string) *Page {
	all := pages()
	i, ok := slices.BinarySearchFunc(all, strings.ToUpper(code), func(p *Page, c string) int { return strings.Compare(p.Code, c) })
	if !ok {
		return nil
	}
	return all[i]
}

// All gives all pages, ordered by code.
func All() []*Page { return slices.Clone(pages()) }

// pages reads the pages once, when the first is asked for.
var pages = sync.OnceValue(func() (all []*Page) {
	each(func(p *Page, text *bufio.Reader) {
		rest, err := io.ReadAll(text)
		if err != nil {
			panic(err) // they are part of the program
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
	patterns []pattern // those with more words first
}

type pattern struct{ title, code string }

// titles reads what the pages begin with once, when the first code is asked for. The pages are long, and nearly every
// command that has something to say asks for a code.
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

// each gives what is in the front matter of each page, ordered by code, with what comes after it.
func each(do func(p *Page, text *bufio.Reader)) {
	entries, err := files.ReadDir("pages")
	if err != nil {
		panic(err) // they are part of the program
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

// front reads the front matter.
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

// matches reports whether a title is of the form that a pattern describes.
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
