package config

import "github.com/hashicorp/hcl/v2/ext/typeexpr"

// Defaults are the default values of optional attributes in a type constraint.
type Defaults = typeexpr.Defaults
