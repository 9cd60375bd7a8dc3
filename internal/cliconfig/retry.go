package cliconfig

import (
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
)

// mostAttempts is the largest permitted number of attempts of one call.
const mostAttempts = 100

// retry reads a provider_retry block. The block of a later file replaces the block of an earlier file for the same
// provider. retry returns false if it has reported an error.
func (s *Settings) retry(b *hcl.Block, attrs hcl.Attributes, bag *diag.Bag) bool {
	r := &provider.Retry{Attempts: 3, Backoff: time.Second}
	p, err := addr.ParseProvider(b.Labels[0])
	if err != nil {
		bag.Add(diag.Errorf("Invalid CLI configuration", "The label of a provider_retry block is the source address of a provider, such as \"hashicorp/aws\", not %q.", b.Labels[0]).At(b.DefRange))
		return false
	}
	ok := true
	for name, a := range attrs {
		good := false
		switch name {
		case "match":
			if r.Match, good = listOf(a, bag); good && (len(r.Match) == 0 || slices.Contains(r.Match, "")) {
				refuse(a, "a list of parts of error messages, such as [\"Throttling\"]", bag)
				good = false
			}
		case "attempts":
			var n *int
			if n, good = countOf(a, 2, bag); good && *n > mostAttempts {
				refuse(a, "at most 100", bag)
				good = false
			} else if good {
				r.Attempts = *n
			}
		case "backoff":
			var text string
			if text, good = textOf(a, bag); good {
				if r.Backoff, err = time.ParseDuration(text); err != nil || r.Backoff <= 0 {
					refuse(a, "a duration, such as \"2s\"", bag)
					good = false
				}
			}
		case "idempotent":
			r.Idempotent, good = flagOf(a, bag)
		default:
			bag.Add(diag.Errorf("Invalid CLI configuration", "A provider_retry block takes the arguments match, attempts, backoff and idempotent, not %q.", name).At(a.NameRange))
		}
		ok = ok && good
	}
	if attrs["match"] == nil {
		bag.Add(diag.Errorf("Invalid CLI configuration", "A provider_retry block needs the argument match, a list of parts of error messages that pass by themselves, such as [\"Throttling\"].").At(b.DefRange))
		return false
	}
	if ok {
		put((*map[addr.Provider]*provider.Retry)(&s.Retries), p.Canon(), r)
	}
	return ok
}
