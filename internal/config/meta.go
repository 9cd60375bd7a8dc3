package config

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
)

// MetaNames returns the arguments and blocks that the language defines for resources of a mode, in addition to the
// schema of the resource type. They are candidates for the correction of misspelt names.
func MetaNames(mode addr.Mode) (args, blocks []string) {
	args, blocks = namesOf(resourceSchemas[mode])
	return args, append(blocks, "dynamic")
}

// ProviderMetaNames returns the arguments and blocks that the language defines for provider blocks.
func ProviderMetaNames() (args, blocks []string) { return namesOf(providerSchema) }

// CallMetaNames returns the arguments and blocks that the language defines for module blocks.
func CallMetaNames() (args, blocks []string) { return namesOf(callSchema) }

func namesOf(s *hcl.BodySchema) (args, blocks []string) {
	for _, a := range s.Attributes {
		args = append(args, a.Name)
	}
	for _, b := range s.Blocks {
		if b.Type != "_" && b.Type != "locals" { // these names are not useful as corrections of misspelt names
			blocks = append(blocks, b.Type)
		}
	}
	return args, blocks
}
