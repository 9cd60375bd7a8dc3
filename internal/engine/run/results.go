package run

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"maps"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// Results records the results of calls to functions that read files or belong to providers, during one walk (a plan or
// an apply). A call must have the same result everywhere in a walk, and in a plan and its apply. Otherwise, for example
// after a file has changed, the apply could differ from the plan. Results stores only digests, and ignores calls with
// ephemeral values.
type Results struct {
	planned map[string]string // the digests of results of functions in the plan that is applied

	mu   sync.Mutex
	seen map[string]string // digest of the result, by digest of the call
}

// observe records the result of a call. It does nothing if a value is unknown or contains an ephemeral value. It
// returns an error if the same call had another result before, in this walk or in the plan.
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
		return fmt.Errorf("the provider's function returned different results for the same arguments. This is a bug in the provider. Report it to its developers")
	case again && had != got:
		return fmt.Errorf("two calls with the same arguments returned different results, because a file that it reads changed. Run the command again")
	case planned && want != got && provided:
		return fmt.Errorf("the provider's function returned another result than during plan, for the same arguments. This is a bug in the provider. Report it to its developers")
	case planned && want != got:
		return fmt.Errorf("the result differs from the plan, because a file that it reads changed. Make a new plan")
	}
	return nil
}

// Digests returns the digests of all recorded results, by the digest of the call, for the plan.
func (r *Results) Digests() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.seen)
}

// digest returns a digest of a name and values. It returns false if a value is or contains an ephemeral or unknown
// value, or cannot be encoded.
func digest(name string, values ...cty.Value) (string, bool) {
	h := sha256.New()
	piece(h, name)
	for _, v := range values {
		if mark.Anywhere(v, mark.Ephemeral) {
			return "", false
		}
		unmarked, _ := mark.UnmarkDeep(v)
		if !unmarked.IsWhollyKnown() {
			return "", false
		}
		if unmarked.Type() == cty.String && !unmarked.IsNull() { // often a large file, which needs no JSON
			piece(h, "string")
			piece(h, unmarked.AsString())
			continue
		}
		text, err := ctyjson.Marshal(unmarked, cty.DynamicPseudoType)
		if err != nil {
			return "", false
		}
		piece(h, ctyvalue.TextOf(text))
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), true
}

// piece writes s with its length, so that the boundary between pieces is unambiguous.
func piece(h hash.Hash, s string) {
	fmt.Fprintf(h, "%d:", len(s))
	_, _ = io.Copy(h, io.LimitReader(strings.NewReader(s), int64(len(s)))) // in parts, instead of a copy of the text
}
