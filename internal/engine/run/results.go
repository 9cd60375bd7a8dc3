package run

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// Results remembers what functions gave that read files or belong to providers, so that one call
// gives one result, in a walk and from a plan to its apply: an apply that found another file would
// not do what was planned. Only digests are kept, and none of a call with anything ephemeral in it.
type Results struct {
	planned map[string]string // of the plan being applied

	mu   sync.Mutex
	seen map[string]string // result by call
}

// observe is a part of frame.Run, Observe.
func (r *Results) observe(name string, args []cty.Value, result cty.Value) error {
	call, ok := digest(name, args...)
	if !ok {
		return nil
	}
	got, ok := digest("", result)
	if !ok {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	had, again := r.seen[call]
	want, planned := r.planned[call]
	r.seen[call] = got
	provided := strings.HasPrefix(name, "provider::")
	switch {
	case again && had != got && provided:
		return fmt.Errorf("the provider's function gave two different results for the same arguments. Functions of providers must always give the same result; this is a bug in the provider, to be reported there")
	case again && had != got:
		return fmt.Errorf("what this function reads changed while Lethe was running, so that two of its calls with the same arguments gave different results")
	case planned && want != got && provided:
		return fmt.Errorf("the provider's function gave another result than when the plan was made, for the same arguments. Functions of providers must always give the same result; this is a bug in the provider, to be reported there")
	case planned && want != got:
		return fmt.Errorf("what this function reads changed after the plan was made, so that its result is not the one that was planned with. Make a new plan")
	}
	return nil
}

// Digests are all results, for the plan file.
func (r *Results) Digests() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.seen)
}

// digest of a name and values; false if there is anything ephemeral or unknown in them.
func digest(name string, values ...cty.Value) (string, bool) {
	h := sha256.New()
	piece(h, []byte(name))
	for _, v := range values {
		if mark.Anywhere(v, mark.Ephemeral) {
			return "", false
		}
		bare, _ := mark.BareDeep(v)
		if !bare.IsWhollyKnown() {
			return "", false
		}
		text, err := ctyjson.Marshal(bare, cty.DynamicPseudoType)
		if err != nil {
			return "", false
		}
		piece(h, text)
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), true
}

// piece writes b so that it cannot run into what follows.
func piece(h hash.Hash, b []byte) {
	fmt.Fprintf(h, "%d:", len(b))
	h.Write(b)
}
