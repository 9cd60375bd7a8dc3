package base

import (
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
)

// Guarded returns the finished text after the guard has masked secrets in it. It reports an error if the guard cannot
// search the text: then the text does not begin as it did.
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
