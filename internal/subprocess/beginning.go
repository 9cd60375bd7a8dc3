package subprocess

import "bytes"

// mostSaid is how much of what a program says of its failure is kept, in bytes.
const mostSaid = 4 << 10

// Beginning keeps the beginning of what a program writes, for a message about its failure, and drops the rest.
type Beginning struct{ kept bytes.Buffer }

// Write implements io.Writer. It does not fail.
func (b *Beginning) Write(text []byte) (int, error) {
	b.kept.Write(text[:min(len(text), mostSaid-b.kept.Len())])
	return len(text), nil
}

// String is what was kept.
func (b *Beginning) String() string { return b.kept.String() }
