package terraform

import "github.com/lethe-iac/lethe/internal/provider/builtin"

func functions() map[string]*builtin.Function { return map[string]*builtin.Function{} }
