package config

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
)

// MetaNames are the arguments and the blocks that the language itself gives to resources of a mode,
// beside those of their schema: what a misspelt name may have meant.
func MetaNames(mode addr.Mode) (args, blocks []string) {
	args, blocks = namesOf(resourceSchemas[mode])
	return args, append(blocks, "dynamic")
}

// ProviderMetaNames are those of provider blocks.
func ProviderMetaNames() (args, blocks []string) { return namesOf(providerSchema) }

// CallMetaNames are those of module blocks.
func CallMetaNames() (args, blocks []string) { return namesOf(callSchema) }

func namesOf(s *hcl.BodySchema) (args, blocks []string) {
	for _, a := range s.Attributes {
		args = append(args, a.Name)
	}
	for _, b := range s.Blocks {
		if b.Type != "_" && b.Type != "locals" { // no misspelt name means these
			blocks = append(blocks, b.Type)
		}
	}
	return args, blocks
}
