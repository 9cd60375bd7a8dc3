package base

import (
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
)

// Guarded returns a finished text, such as a page, with its secrets masked. begin is the beginning of the text, such as
// "<svg". If masking changes the beginning, the text was too complex to search and was masked as a whole. In this case
// Guarded adds an error, and returns nil and false.
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
