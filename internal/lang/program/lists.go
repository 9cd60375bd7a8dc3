package program

import (
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// The arguments and blocks of a list block.
const (
	ListObjects = "include_resource"
	ListLimit   = "limit"
	ListConfig  = "config"
)

// ListData is the attribute of list.TYPE.NAME that contains the results.
const ListData = "data"

// listResult is the schema of a list block's value. The type of the results depends on the type of the objects.
var listResult = &schema.Schema{Block: &schema.Block{Attrs: []*schema.Attr{{Name: ListData, Type: cty.DynamicPseudoType, Computed: true}}}}

// ListBody returns the schema of the body of a list block. config is the provider's list schema. Users may omit the
// block config if it has no required arguments.
func ListBody(config *schema.Block) *schema.Block {
	return &schema.Block{
		Attrs:  []*schema.Attr{{Name: ListObjects, Type: cty.Bool, Optional: true}, {Name: ListLimit, Type: cty.Number, Optional: true}},
		Blocks: []*schema.Nested{configBlock(ListConfig, config)},
	}
}
