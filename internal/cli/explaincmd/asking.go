package explaincmd

import (
	"cmp"
	"io"

	"github.com/lethe-iac/lethe/internal/cli/session"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/explain"
)

// asking is one question of the command explain: about a value of the configuration, or about a type or a function of a
// provider.
type asking struct {
	session *session.Session
	text    string            // an address, a type, or a function of a provider, as the user wrote it
	plan    string            // the file of -plan; "" without it
	errors  []diag.Diagnostic // errors that may be the reason why a provider or a module has no answer
	near    []string          // types that resemble the text
}

// show writes an answer: with -json, document writes it as JSON, and otherwise text writes it as text. If writing
// fails, show adds an error.
func (x *asking) show(document, text func(io.Writer) error) {
	c := x.session.Dir.Call
	alone, err := c.Document(document)
	if err == nil && !alone {
		err = text(c.Stdout)
	}
	if err != nil {
		c.Bag.Add(diag.Errorf("Failed to show the explanation", "%s.", err))
	}
}

// address returns the declared address that is most similar to the text. It returns "" if no address is similar, or if
// the configuration was not compiled.
func (x *asking) address() string {
	if p := x.session.Program; p != nil {
		return explain.Suggest(p, x.text)
	}
	return ""
}

// unknown handles a question without an answer. It lists the diagnostic codes whose pages match the text
// (similarPages). Without such codes, it reports x.errors, or else an error that nothing has this name.
func (x *asking) unknown() {
	if pages := similarPages(x.session.Dir.Call); len(pages) > 0 {
		listCodes(x.session.Dir.Call, pages)
		return
	}
	bag := &x.session.Dir.Call.Bag
	if len(x.errors) > 0 {
		bag.Add(x.errors...)
		return
	}
	hint := diag.Meant(cmp.Or(x.address(), diag.SuggestAmong(x.text, x.near)))
	bag.Add(diag.Errorf("Nothing to explain", "%q is no code, the configuration declares no such address, and no provider of the configuration has such a type.%s", x.text, hint))
}
