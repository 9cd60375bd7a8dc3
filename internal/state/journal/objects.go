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

// Rewrite returns a journal whose payloads were passed through a function, with the same key. Damaged parts are left out,
// as if they were replayed. It returns nil if no payload changes.
func Rewrite(data []byte, seal Sealing, rewrite func(payload []byte) ([]byte, bool, error)) ([]byte, error) {
	stored, _ := records(data)
	list, raw, _, err := opened(stored, seal)
	if err != nil {
		return nil, err
	}
	key := aead(raw)
	var out []byte
	any := false
	for _, r := range list {
		payload, changed := r.payload, false
		if r.kind != keyRecord {
			if payload, changed, err = rewrite(r.payload); err != nil {
				return nil, err
			}
			payload = sealed(key, r.kind, r.number, payload)
		}
		any = any || changed
		out = appendRecord(out, r.kind, r.number, payload)
	}
	if !any {
		return nil, nil
	}
	return out, nil
}
