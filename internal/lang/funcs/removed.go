package funcs

import (
	"errors"

	"github.com/zclconf/go-cty/cty"
)

// removed are functions of old that are here to say what to write instead.
var removed = []*builtin{
	removedFor("list", "[ ... ], or tolist([ ... ]) for elements of one type"),
	removedFor("map", "{ ... }, or tomap({ ... }) for elements of one type"),
}

func removedFor(name, instead string) *builtin {
	err := errors.New("there is no function \"" + name + "\" any more; write " + instead)
	return &builtin{
		name: name, doc: "No longer available: use " + instead + ".",
		rest:    &param{name: "vals", typ: cty.DynamicPseudoType, doc: "Ignored.", mode: anything},
		returns: cty.DynamicPseudoType, whole: true,
		run: func(*call) (cty.Value, error) { return cty.NilVal, err },
	}
}
