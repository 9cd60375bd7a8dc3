package frame

import (
	"sync"
	"sync/atomic"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// slot has the object of one instance of a resource. The engine puts the object there, and references read it.
type slot struct {
	once   sync.Once
	load   func() mark.Value // computes rest when the object is first read; nil if rest was given
	rest   mark.Value        // the object, with its marks as a list beside it
	joined cty.Value         // the object with cty marks; set by force
	failed bool              // the operation that should have made the object failed, so there is no object
}

// force computes s.rest with s.load, if that was not done yet, and sets s.joined. It must be called before either is
// read.
func (s *slot) force() {
	s.once.Do(func() {
		if s.load != nil {
			s.rest = s.load()
			s.load = nil
		}
		s.joined = s.rest.Join()
	})
}

// whole is the cached value of all instances of a resource together. It is computed when a reference first reads it. An
// object may be put into a slot during the computation: the cached value is valid only if object.puts has not changed
// since the computation began.
type whole struct {
	val    cty.Value
	marked bool      // val may contain marks
	puts   uint64    // the value of object.puts when the computation of val began
	early  fillCount // 0 if no slot was empty; otherwise val must be computed again after the next event that fillCount counts
}

// object has the instance keys and the objects of a resource, provider configuration or action in one module instance,
// on one face: before (prior state) or after (planned state). Only resources have slots: for the others, only rep is
// used.
type object struct {
	rep   repetition            // the repetition, which determines the instance keys
	mu    sync.RWMutex          // protects ints and strs
	one   atomic.Pointer[slot]  // the slot of the instance without a key
	ints  []*slot               // the slots of instances with number keys, by key; a nil element is an empty slot
	strs  map[string]*slot      // the slots of instances with string keys, by key; a nil element is an empty slot
	whole atomic.Pointer[whole] // the value of all instances together; nil if it was not computed since the last put

	puts   atomic.Uint64 // the number of calls of put
	missed atomic.Bool   // an evaluation has read an empty slot
}

// put sets the slot of an instance, or empties it if s is nil. It discards the cached value of all instances.
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
