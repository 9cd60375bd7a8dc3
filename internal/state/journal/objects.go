package journal

import (
	"fmt"

	"github.com/lethe-iac/lethe/internal/state"
)

// Objects returns all objects in the results of a journal, whichever state the journal continues. encrypted reports
// whether the journal is encrypted. damaged is the number of bytes that cannot be read.
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

// Rewriting describes how Rewrite removes values that must not be stored from a journal.
type Rewriting struct {
	// Payload returns the payload of a record without the values. It returns false if the payload contains none of the
	// values.
	Payload func(payload []byte) ([]byte, bool, error)
	// Scrubbed returns the digest of the state with the given digest after the values are removed from that state. It
	// returns zero if the state does not contain the values.
	Scrubbed func(state.Digest) state.Digest
}

// Rewrite returns a journal without the values, encrypted with the same key. It omits damaged records, which a replay
// would omit, too. It returns nil if nothing changes.
func Rewrite(data []byte, seal Sealing, how Rewriting) ([]byte, error) {
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
			if payload, changed, err = how.Payload(r.payload); err != nil {
				return nil, err
			}
			if r.kind == headerRecord {
				var moved bool
				if payload, moved, err = how.header(payload); err != nil {
					return nil, err
				}
				changed = changed || moved
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

// header sets Header.Scrubbed to the digest of the state without the values. It returns false if that digest does not
// change.
func (how *Rewriting) header(payload []byte) ([]byte, bool, error) {
	h, err := decode[Header](payload)
	if err != nil {
		return nil, false, err
	}
	for _, of := range []state.Digest{h.Base, h.Scrubbed} { // h.Scrubbed, because an earlier rewriting may have removed other values from the state
		if d := how.Scrubbed(of); d != (state.Digest{}) && d != h.Scrubbed {
			h.Scrubbed = d
			return encode(h), true, nil
		}
	}
	return payload, false, nil
}
