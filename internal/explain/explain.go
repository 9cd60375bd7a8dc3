// Package explain computes the answers of the command explain: the parts of a type of a provider, and the sources, the
// users and the effects of a value of the configuration.
//
// It reads the configuration, the schemas and a plan. It evaluates no expression, so an explanation contains no value.
//
//	explain.go  New, which explains a value
//	effects.go  the effects of a change, and the receivers of the value of an ephemeral resource
//	marks.go    why a value is sensitive, ephemeral or unknown
//	value.go    Value, and the sources of a value
//	users.go    the declarations that use a value
//	find.go     the declaration that an address names
//	along.go    the attributes on a path
//	example.go  an example of a block
//	types.go    Type: a type of a provider, or a part of it
package explain

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// New explains a declaration or the part of it at f.Path: its source, users, marks, and the effects of a change.
func New(in Inputs, f Found) *Value {
	x := &explainer{Inputs: in, found: f, users: usersOf(in.Program), left: mostSources}
	v := &Value{Address: Name(f.Declaration) + Written(f.Path), Kind: kindOf(f), At: f.Range}
	v.From = x.source(v.Address, f.Declaration, f.Path, 0)
	if len(f.Path) > 0 {
		v.At = v.From.At
	}
	if n := len(v.From.attrs); n > 0 {
		v.Facts = Facts(v.From.attrs[n-1])
	}
	x.marks(v)
	v.Users = x.users.at(f.Declaration, f.Path)
	v.Effects = x.effects(f)
	v.Planned = x.planned(f, v.Effects)
	if f.Kind == program.Resource && f.Resource.Mode == addr.Ephemeral {
		v.Lease = x.lease(f)
	}
	return v
}
