package schema

import (
	"fmt"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// Breach is one way in which an answer of a provider does not fit.
type Breach struct {
	// Path leads to the attribute; it is empty where the whole object is meant.
	Path cty.Path
	// Text says what is wrong, with Terraform's and OpenTofu's words and values in their syntax. Values of
	// attributes that the schema calls sensitive are not in it.
	Text string
	// Safe says the same without any value. It is for paths that are marked.
	Safe string
}

// breaches collects what a check finds on its way.
type breaches struct {
	here  pathBuilder
	found []Breach
}

// add adds a breach whose text holds no value.
func (bs *breaches) add(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	bs.found = append(bs.found, Breach{bs.here.path(), text, text})
}

// tell adds a breach that shows values, unless they are to be hidden.
func (bs *breaches) tell(hide bool, safe string, text func() string) {
	b := Breach{bs.here.path(), safe, safe}
	if !hide {
		b.Text = text()
	}
	bs.found = append(bs.found, b)
}

// GoString writes a value in the syntax that Terraform and OpenTofu use in details about providers, which
// people search for and tests match: cty.StringVal("a").
func GoString(v cty.Value) string {
	for _, tag := range []mark.Tag{mark.Ephemeral, mark.Sensitive} {
		if mark.Anywhere(v, tag) {
			return tag.Mask()
		}
	}
	return v.GoString()
}
