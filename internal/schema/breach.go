package schema

import (
	"fmt"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// Breach is one violation of the rules of the provider protocol in a provider's answer.
type Breach struct {
	// Path leads to the attribute with the violation. It is empty if the violation concerns the whole object.
	Path cty.Path
	// Text describes the violation in the words of Terraform and OpenTofu, with values in their syntax. It contains no
	// values of attributes that are sensitive in the schema.
	Text string
	// Safe describes the violation without any value, for a path whose value is sensitive or ephemeral.
	Safe string
}

// breaches collects the violations that a check finds. Field here is the path of the value that is being checked.
type breaches struct {
	here  pathBuilder
	found []Breach
}

// add adds a violation whose text contains no value.
func (bs *breaches) add(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	bs.found = append(bs.found, Breach{bs.here.path(), text, text})
}

// report adds a violation. safe describes it without values, and text with values. If hide is true, only safe is used.
func (bs *breaches) report(hide bool, safe string, text func() string) {
	b := Breach{bs.here.path(), safe, safe}
	if !hide {
		b.Text = text()
	}
	bs.found = append(bs.found, b)
}

// GoString returns a value in the form in which Terraform and OpenTofu show it in messages about providers:
// cty.StringVal("a"). People search for these texts, and tests compare them. If any part of the value is ephemeral or
// sensitive, GoString returns a placeholder instead.
func GoString(v cty.Value) string {
	for _, tag := range []mark.Tag{mark.Ephemeral, mark.Sensitive} {
		if mark.Anywhere(v, tag) {
			return tag.Mask()
		}
	}
	return v.GoString()
}
