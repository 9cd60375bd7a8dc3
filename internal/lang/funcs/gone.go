package funcs

import (
	"errors"

	"github.com/zclconf/go-cty/cty"
)

// gone are functions of old that are here to say what to write instead.
var gone = []*builtin{
	goneFor("list", "[ ... ], or tolist([ ... ]) for elements of one type"),
	goneFor("map", "{ ... }, or tomap({ ... }) for elements of one type"),
}

func goneFor(name, instead string) *builtin {
	err := errors.New("there is no function \"" + name + "\" any more; write " + instead)
	return &builtin{
		name: name, doc: "No longer available: use " + instead + ".",
		rest:    &param{name: "vals", typ: cty.DynamicPseudoType, doc: "Ignored.", mode: anything},
		returns: cty.DynamicPseudoType, whole: true,
		run: func(*call) (cty.Value, error) { return cty.NilVal, err },
	}
}

func (b *builtin) isGone() bool { return b.name == "list" || b.name == "map" }
