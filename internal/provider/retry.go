package provider

import (
	"math/rand/v2"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
)

// Retry is a user's policy for calls of one provider whose errors are temporary (provider_retry in the CLI
// configuration).
type Retry struct {
	Match      []string      // parts of the texts of temporary errors; an error that contains one of them is temporary
	Attempts   int           // maximum number of calls, including the first
	Backoff    time.Duration // the pause after the first failure; each later pause is twice as long, up to maxBackoff
	Idempotent bool          // an update or a deletion may be repeated, too; otherwise only calls that change nothing
}

// Retries has the policies, by the result of addr.Provider.Canon.
type Retries map[addr.Provider]*Retry

// Of returns the policy for a provider, or nil if the provider has no policy.
func (r Retries) Of(p addr.Provider) *Retry {
	if len(r) == 0 {
		return nil
	}
	return r[p.Canon()]
}

// maxBackoff is the maximum pause, unless Backoff is longer.
const maxBackoff = time.Minute

// Matched returns the first text of r.Match that an error in ds contains. It returns "" if no error contains one.
func (r *Retry) Matched(ds Diags) string {
	for _, d := range ds {
		if d.Severity != diag.Error {
			continue
		}
		for _, text := range r.Match {
			if strings.Contains(d.Summary, text) || strings.Contains(d.Detail, text) {
				return text
			}
		}
	}
	return ""
}

// Pause returns the pause after the n-th failure of a call. The first failure is 1. Pause adds a random part of up to a
// quarter, so that calls that failed at the same time are not repeated at the same time.
func (r *Retry) Pause(n int) time.Duration {
	d, most := r.Backoff, max(r.Backoff, maxBackoff)
	for ; n > 1 && d < most; n-- {
		d *= 2
	}
	d = min(d, most)
	return d + rand.N(d/4+1)
}
