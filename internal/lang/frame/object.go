package frame

import (
	"sync"
	"sync/atomic"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// slot holds the value of one instance of a resource. The engine fills it; references read it.
type slot struct {
	once   sync.Once
	load   func() mark.Value
	rest   mark.Value
	joined cty.Value
	failed bool
}

// force makes the value there is.
func (s *slot) force() {
	s.once.Do(func() {
		if s.load != nil {
			s.rest = s.load()
			s.load = nil
		}
		s.joined = s.rest.Join()
	})
}

// whole is the value of all instances, once a reference has read it. A slot may be filled while the value is put
// together: it stands only if no slot was filled since that began.
type whole struct {
	val    cty.Value
	marked bool
	puts   uint64 // how often a slot had been filled when it began
	early  fillCount
}

// object is what there is of a resource or a provider in a frame, in one face: keys and instances.
type object struct {
	rep   repetition
	mu    sync.RWMutex
	one   atomic.Pointer[slot]
	ints  []*slot
	strs  map[string]*slot
	whole atomic.Pointer[whole]

	puts   atomic.Uint64 // how often a slot was filled
	missed atomic.Bool   // an instance was looked for that was not there
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

// slot finds an instance's slot, nil if it is empty.
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
