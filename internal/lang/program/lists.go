package program

import (
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// The names of the arguments and blocks inside a list block.
const (
	ListObjects = "include_resource"
	ListLimit   = "limit"
	ListConfig  = "config"
)

// ListData is the attribute of list.TYPE.NAME that has the results.
const ListData = "data"

// listResult is the schema of the value of a list block. The type of the results varies, because it depends on the type
// of the objects.
var listResult = &schema.Schema{Block: &schema.Block{Attrs: []*schema.Attr{{Name: ListData, Type: cty.DynamicPseudoType, Computed: true}}}}

// ListBody returns the schema of the body of a list block. config is the provider's schema for the list. The block
// config is optional if no argument in it is required.
func ListBody(config *schema.Block) *schema.Block {
	return &schema.Block{
		Attrs:  []*schema.Attr{{Name: ListObjects, Type: cty.Bool, Optional: true}, {Name: ListLimit, Type: cty.Number, Optional: true}},
		Blocks: []*schema.Nested{configBlock(ListConfig, config)},
	}
}
