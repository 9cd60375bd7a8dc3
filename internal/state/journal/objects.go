package journal

import (
	"fmt"

	"github.com/lethe-iac/lethe/internal/state"
)

// Objects returns all objects that the results in a journal contain, whichever state the journal continues, and whether
// the journal is encrypted. damaged is the number of bytes that cannot be read.
func Objects(data []byte, seal Sealing) (changes []Change, encrypted bool, damaged int, err error) {
	list, damaged := records(data)
	encrypted = len(list) > 0 && list[0].kind == keyRecord
	list, _, lost, err := opened(list, seal)
	if err != nil {
		return nil, encrypted, 0, err
	}
	var parser state.ObjectParser
	for _, r := range list {
		if r.kind != resultRecord {
			continue
		}
		_, some, err := decodeResult(&parser, r.payload)
		if err != nil {
			return nil, encrypted, 0, fmt.Errorf("the record %d cannot be read: %w", r.number, err)
		}
		changes = append(changes, some...)
	}
	return changes, encrypted, damaged + lost, nil
}
