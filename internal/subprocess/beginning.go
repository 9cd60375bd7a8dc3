package subprocess

import "bytes"

// mostSaid is the maximum number of bytes that a Beginning keeps.
const mostSaid = 4 << 10

// Beginning keeps the beginning of a program's output, for a message about its failure, and drops the rest.
type Beginning struct{ kept bytes.Buffer }

// Write keeps text as long as fewer than mostSaid bytes are kept, and drops the rest. It returns no errors.
func (b *Beginning) Write(text []byte) (int, error) {
	b.kept.Write(text[:min(len(text), mostSaid-b.kept.Len())])
	return len(text), nil
}

// String returns the kept output.
func (b *Beginning) String() string { return b.kept.String() }
