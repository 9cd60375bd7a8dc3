package schema

import (
	"fmt"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// Breach is one violation of the protocol's rules in a provider's answer.
type Breach struct {
	// Path leads to the attribute. It is empty if the breach concerns the whole object.
	Path cty.Path
	// Text describes the breach in the words of Terraform and OpenTofu, with values in their syntax. It contains no
	// values of attributes that are sensitive in the schema.
	Text string
	// Safe describes the breach without any value, for paths that are marked.
	Safe string
}

// breaches collects the breaches that a check finds. Field here is the path of the value that is being checked.
type breaches struct {
	here  pathBuilder
	found []Breach
}

// add adds a breach whose text contains no value.
func (bs *breaches) add(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	bs.found = append(bs.found, Breach{bs.here.path(), text, text})
}

// report adds a breach. safe describes it without values, and text with values. If hide is true, the breach has only
// the safe text.
func (bs *breaches) report(hide bool, safe string, text func() string) {
	b := Breach{bs.here.path(), safe, safe}
	if !hide {
		b.Text = text()
	}
	bs.found = append(bs.found, b)
}

// GoString formats a value as Terraform and OpenTofu do in messages about providers: cty.StringVal("a"). People search
// for these texts, and tests match them. If any part of the value is ephemeral or sensitive, GoString returns a mask
// instead.
func GoString(v cty.Value) string {
	for _, tag := range []mark.Tag{mark.Ephemeral, mark.Sensitive} {
		if mark.Anywhere(v, tag) {
			return tag.Mask()
		}
	}
	return v.GoString()
}
