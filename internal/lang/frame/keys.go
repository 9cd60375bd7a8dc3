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

// Keys has the instance keys of a declaration in one module instance.
type Keys struct {
	Status Status
	Repeat program.RepeatKind
	List   []addr.Key // sorted
	Hidden bool       // the keys come from ephemeral values, so they must not be shown
	More   bool       // the keys in List were set, and the keys from the configuration are added to them
	// Waits is the error about unknown keys that was not reported because of Options.Defers, or nil.
	Waits *diag.Diagnostic
	early fillCount // not 0 if the object of an instance was missing, so that the keys may change when that object exists
}

func (k Keys) has(key addr.Key) bool {
	_, ok := slices.BinarySearchFunc(k.List, key, addr.Key.Compare)
	return ok
}

// Lacks reports whether it is certain that no instance has the key.
func (k Keys) Lacks(key addr.Key) bool { return k.Status == Known && !k.More && !k.has(key) }

var onlyOne = []addr.Key{addr.NoKey}

// with returns the keys k, which were set, together with the declared keys, which come from the configuration. If the
// status of the declared keys is not Known, the result has only the keys that were set, and More is true. If no keys
// were set either, the result has the status of the declared keys.
func (k Keys) with(declared Keys) Keys {
	out := Keys{Repeat: k.Repeat, List: k.List, More: declared.Status != Known, early: declared.early}
	switch {
	case declared.Status == Known && len(k.List) == 0:
		out.List = declared.List
	case declared.Status == Known:
		out.List = slices.Concat(k.List, declared.List)
		slices.SortFunc(out.List, addr.Key.Compare)
		out.List = slices.Compact(out.List)
	case len(k.List) == 0:
		out.Status = declared.Status
	}
	return out
}

// repetition is the repetition (count, for_each or enabled) of a declaration on one face: Before (prior state) or After
// (planned state). It is evaluated once. The engine may set the keys instead. The field set has an element for each
// face, because a declaration whose two faces are equal (Options.Steady) has one repetition for both.
type repetition struct {
	mu  sync.Mutex
	got atomic.Pointer[repeated]
	set [2]atomic.Pointer[Keys]
}

// repeated is the result of evaluating a repetition.
type repeated struct {
	Keys
	each   map[string]cty.Value // the for_each values by key, with their marks
	marked bool                 // the values in each may contain marks
	plain  []addr.Key           // during validation: the known keys; nil if there are more than fewKeys
	diags  []diag.Diagnostic    // the diagnostics of the evaluation
}

// expanded returns the instance keys of a declaration on a face: the keys that were set, the evaluated keys, or both
// together if More is true. A declaration without a repetition has one instance without a key. If keys were neither set
// nor evaluated, the status is Unknown.
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

// exists reports whether a module call has an instance with the key, as far as its keys were set or evaluated. A call
// without a repetition has one instance, without a key.
func (rep *repetition) exists(call *program.Def, face Face, key addr.Key) bool {
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
