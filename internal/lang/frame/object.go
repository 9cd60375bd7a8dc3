package frame

import (
	"sync"
	"sync/atomic"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// slot holds the object of one instance of a resource. The engine fills the slot, and references read it.
type slot struct {
	once   sync.Once
	load   func() mark.Value // computes rest when the value is first read; nil if rest was given
	rest   mark.Value        // the value, with its marks beside it
	joined cty.Value         // the value with cty marks; set by force
	failed bool              // the operation that computes the value failed: there is no value
}

// force loads the value, if it is not loaded yet, and sets joined. It must be called before rest or joined is read.
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
	marked bool      // val may have marks
	puts   uint64    // value of object.puts when the computation began
	early  fillCount // 0 if no slot was empty; otherwise val is computed again after the next event that it counts
}

// object holds the values of a resource, provider configuration or action in one module instance on one face: before
// (the prior state) or after (the planned state). Only resources have slots: for others, only rep is used.
type object struct {
	rep   repetition            // determines the instance keys
	mu    sync.RWMutex          // protects ints and strs
	one   atomic.Pointer[slot]  // the slot of the instance without a key
	ints  []*slot               // the slots of instances with number keys, by key; nil: empty
	strs  map[string]*slot      // the slots of instances with string keys, by key; nil: empty
	whole atomic.Pointer[whole] // the value of all instances together; nil: not computed since the last put

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

// slot returns the slot of the instance with key k, or nil if it is empty.
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
