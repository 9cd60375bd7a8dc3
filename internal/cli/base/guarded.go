package base

import (
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
)

// Guarded returns a finished text with its secrets masked. begin is the beginning of the text. If masking changes it,
// the text is too complex to search. Then Guarded adds an error, and returns nil and false.
func (c *Call) Guarded(text []byte, begin string) ([]byte, bool) {
	if c.Secrets.Empty() {
		return text, true
	}
	scrubbed := c.Secrets.Scrub(string(text))
	if !strings.HasPrefix(scrubbed, begin) {
		c.Bag.Add(diag.Errorf("Failed to write the page", "The text contains so many encoded texts that it cannot be searched for secrets. It was not written."))
		return nil, false
	}
	return []byte(scrubbed), true
}
