package frame

import (
	"sync"
	"sync/atomic"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// slot holds the value of one instance of an object. The engine fills the slot, and references read it. load, if any,
// computes rest when the value is first read. joined is the result of rest.Join.
type slot struct {
	once   sync.Once
	load   func() mark.Value
	rest   mark.Value
	joined cty.Value
	failed bool
}

// force loads the value, if it is not loaded yet.
func (s *slot) force() {
	s.once.Do(func() {
		if s.load != nil {
			s.rest = s.load()
			s.load = nil
		}
		s.joined = s.rest.Join()
	})
}

// whole is the cached value of all instances together. It is computed when a reference first reads it. A slot may be
// filled during the computation: the cached value is valid only if object.puts did not change since the computation
// began.
type whole struct {
	val    cty.Value
	marked bool
	puts   uint64 // value of object.puts when the computation began
	early  fillCount
}

// object holds the values of a resource or a provider in one face of a frame, before or after. rep determines the
// instance keys. one, ints and strs hold the slot of each instance by its key. whole caches the value of all instances
// together.
type object struct {
	rep   repetition
	mu    sync.RWMutex
	one   atomic.Pointer[slot]
	ints  []*slot
	strs  map[string]*slot
	whole atomic.Pointer[whole]

	puts   atomic.Uint64 // number of calls of put
	missed atomic.Bool   // an evaluation read a slot that was empty
}

// put fills the slot of an instance, or empties it if s is nil. It discards the cached value of all instances.
func (o *object) put(k addr.Key, s *slot) {
	o.fill(k, s)
	o.puts.Add(1)
	o.whole.Store(nil)
}

func (o *object) fill(k addr.Key, s *slot) {
	if k.IsNone() {
		o.one.Store(s)
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if i, ok := k.Int(); ok {
		for len(o.ints) <= i {
			o.ints = append(o.ints, nil)
		}
		o.ints[i] = s
		return
	}
	name, _ := k.Str()
	if o.strs == nil {
		o.strs = map[string]*slot{}
	}
	o.strs[name] = s
}

// slot returns an instance's slot, or nil if it is empty.
func (o *object) slot(k addr.Key) *slot {
	if k.IsNone() {
		return o.one.Load()
	}
	o.mu.RLock()
	defer o.mu.RUnlock()
	if i, ok := k.Int(); ok {
		if i < len(o.ints) {
			return o.ints[i]
		}
		return nil
	}
	name, _ := k.Str()
	return o.strs[name]
}
