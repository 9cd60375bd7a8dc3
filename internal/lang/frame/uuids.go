package frame

import (
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/zclconf/go-cty/cty"
)

// UUIDs keeps the results of uuid() for all walks (plans and applies) of a command (ADR 52). A call is identified by
// its position in the source, by the instance or cell that is evaluated, and by the number of earlier calls at this
// position in the same evaluation. A cell has the value of a local, variable or output in one module instance. A call
// with the same identification has the same result in each walk. The zero value has no results. UUIDs is safe for
// concurrent use.
type UUIDs struct {
	mu   sync.Mutex
	made map[uuidCall]cty.Value
}

// uuidCall identifies a call of uuid.
type uuidCall struct {
	at   hcl.Range
	in   addr.ModuleInstance
	of   *program.Def // the declaration whose instance is evaluated
	cell *program.Def // the cell that is evaluated; nil if no cell is
	key  addr.Key
	n    int
}

// get returns the kept result of a call. If none is kept, get calls the function call, and keeps its result if it is
// known.
func (u *UUIDs) get(x uuidCall, call func() (cty.Value, hcl.Diagnostics)) (cty.Value, hcl.Diagnostics) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if v, ok := u.made[x]; ok {
		return v, nil
	}
	v, diags := call()
	if v.IsKnown() {
		if u.made == nil {
			u.made = map[uuidCall]cty.Value{}
		}
		u.made[x] = v
	}
	return v, diags
}
