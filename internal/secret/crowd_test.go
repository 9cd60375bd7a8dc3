package secret

import (
	"fmt"
	"strings"
	"testing"
)

// TestCrowds searches for many secrets with the same beginning, such as private keys. Each secret is found, in clear
// text and encoded. At each position, a search yields only complete secrets. Its work at a position depends on the
// number of different lengths, not on the number of secrets.
func TestCrowds(t *testing.T) {
	const count = 500
	begin := "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ" // the equal beginning is longer than a piece, the unit of the search
	for name, value := range map[string]func(n int) string{
		"equal first pieces": func(n int) string { return fmt.Sprintf("%s%06d-canary\n-----END PRIVATE KEY-----\n", begin, n) },
		"different first pieces": func(n int) string {
			return fmt.Sprintf("postgres://canary-%06d%s@host/db", n, strings.Repeat("x", n%5))
		},
		"one inside another": func(n int) string { return "same-beginning-" + strings.Repeat("canary-", n%50+1) + fmt.Sprint(n/50) },
	} {
		var s Set
		for n := range count {
			s.Add(value(n), Origin{Kind: WriteOnly, Sensitive: true})
		}
		for _, n := range []int{0, 7, count / 2, count - 1} {
			own, text := value(n), "a: "+value(n)+" and more"
			for _, in := range []string{text, fmt.Sprintf("%q", text)} {
				found := map[string]bool{}
				if clear := s.Within(in, func(secret string) { found[secret] = true }); !clear || !found[own] {
					t.Errorf("%s: secret %d is not found in %s", name, n, in)
				}
				for secret := range found {
					if !strings.Contains(text, secret) {
						t.Errorf("%s: %q is found in %q", name, secret, text)
					}
				}
				if out := s.Scrub(in); strings.Contains(out, "canary") || !strings.Contains(out, "and more") {
					t.Errorf("%s: scrubbed: %s", name, out)
				}
			}
			yielded, expected := 0, 0
			for _, p := range s.table.matches(text, true) {
				if p.form.whole && p.at == 0 {
					yielded++
				}
			}
			for other := range count {
				for _, form := range forms(value(other)) {
					expected += strings.Count(text, form)
				}
			}
			if yielded != expected {
				t.Errorf("%s: the search yields %d whole secrets, and not %d", name, yielded, expected)
			}
		}
		for _, c := range s.table.crowds {
			if len(c.pieces.lengths) > 60 {
				t.Errorf("%s: %d lengths of pieces", name, len(c.pieces.lengths))
			}
		}
		if len(s.table.crowds) == 0 {
			t.Errorf("%s: no key has many pieces", name)
		}
	}
}
