package frame

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/zclconf/go-cty/cty"
)

// Keys are the instances of a repeated declaration in one module instance.
type Keys struct {
	Status Status
	Repeat program.RepeatKind
	List   []addr.Key // sorted
	Hidden bool       // the keys come from ephemeral values and are not to be shown
	More   bool       // of keys that are set: those that the repetition says come on top
	early  fillCount
}

func (k Keys) has(key addr.Key) bool {
	_, ok := slices.BinarySearchFunc(k.List, key, addr.Key.Compare)
	return ok
}

// Lacks reports whether it is known that a key is not among the instances.
func (k Keys) Lacks(key addr.Key) bool { return k.Status == Known && !k.More && !k.has(key) }

var onlyOne = []addr.Key{addr.NoKey}

// with adds the keys that a repetition says to those that are set. Where it cannot say, those that
// are set are all there is to know.
func (k Keys) with(said Keys) Keys {
	out := Keys{Repeat: k.Repeat, List: k.List, More: said.Status != Known, early: said.early}
	switch {
	case said.Status == Known && len(k.List) == 0:
		out.List = said.List
	case said.Status == Known:
		out.List = slices.Concat(k.List, said.List)
		slices.SortFunc(out.List, addr.Key.Compare)
		out.List = slices.Compact(out.List)
	case len(k.List) == 0:
		out.Status = said.Status
	}
	return out
}

// repetition is the repetition of a declaration in one face: evaluated once. The engine may set keys
// instead, also where both faces have one repetition.
type repetition struct {
	mu  sync.Mutex
	got atomic.Pointer[repeated]
	set [2]atomic.Pointer[Keys]
}

// repeated is an evaluated repetition.
type repeated struct {
	Keys
	each   map[string]cty.Value // for_each values, with their marks
	marked bool                 // there may be marks in each
	plain  []addr.Key           // while validating: the keys that are written out, if they are few
	diags  []diag.Diagnostic
}

func (rep *repetition) expanded(d *program.Def, face Face) Keys {
	set, got := rep.set[face].Load(), rep.got.Load()
	switch {
	case set != nil && (!set.More || d.Repetition == nil || got == nil):
		return *set
	case d.Repetition == nil:
		return Keys{List: onlyOne}
	case got == nil:
		return Keys{Status: Unknown, Repeat: program.RepeatKindOf(d.Repeat)}
	case set != nil:
		return set.with(got.Keys)
	}
	return got.Keys
}

// there reports whether a call has an instance among those expanded.
func (rep *repetition) there(call *program.Def, face Face, key addr.Key) bool {
	set, got := rep.set[face].Load(), rep.got.Load()
	switch {
	case set != nil && set.has(key):
		return true
	case set != nil && !set.More:
		return false
	case call.Repetition == nil:
		return key.IsNone()
	}
	return got != nil && got.has(key)
}
