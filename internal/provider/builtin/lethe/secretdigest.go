package lethe

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"golang.org/x/crypto/argon2"
)

// The methods of digests. The name of a method includes its parameters, so a method with other parameters needs another
// name.
const (
	keyed   = "hmac-sha256"
	unkeyed = "argon2id-64m-3-4" // 64 MiB, 3 passes, 4 lanes: the second recommended option of RFC 9106
)

const saltSize = 16

// digest identifies a secret value without containing the value. Each digest has a random salt, so two digests of the
// same value differ.
type digest struct {
	Method string `json:"method,omitempty"`
	Salt   []byte `json:"salt,omitempty"`
	Sum    []byte `json:"digest,omitempty"`
	// Check identifies the key of a keyed digest, with the same salt.
	Check []byte `json:"check,omitempty"`
}

// newDigest returns a digest of a value. If key is "", the digest has no key.
func newDigest(value, key string) digest {
	d := digest{Method: unkeyed, Salt: make([]byte, saltSize)}
	rand.Read(d.Salt)
	if key != "" {
		d.Method, d.Check = keyed, keyedSum(key, "key", d.Salt, "")
	}
	d.Sum = d.sum(value, key)
	return d
}

// exists reports whether d is a digest. The zero value is no digest.
func (d digest) exists() bool { return d.Method != "" }

// fits reports whether the digest was made with the given key. If key is "", it reports whether the digest was made
// without a key.
func (d digest) fits(key string) bool {
	if key == "" || d.Method != keyed {
		return key == "" && d.Method == unkeyed
	}
	return hmac.Equal(d.Check, keyedSum(key, "key", d.Salt, ""))
}

// of reports whether d is a digest of the value. The caller must ensure that fits returns true for the key.
func (d digest) of(value, key string) bool { return hmac.Equal(d.Sum, d.sum(value, key)) }

func (d digest) sum(value, key string) []byte {
	if d.Method == keyed {
		return keyedSum(key, "value", d.Salt, value)
	}
	return unkeyedWork.sum(value, d.Salt)
}

// keyedSum returns an HMAC. purpose makes the HMAC of a value different from the HMAC that identifies the key.
func keyedSum(key, purpose string, salt []byte, value string) []byte {
	m := hmac.New(sha256.New, []byte(key))
	for _, part := range [][]byte{[]byte("lethe_secret_version " + purpose + "\x00"), salt, []byte(value)} {
		m.Write(part)
	}
	return m.Sum(nil)
}

// work is the cost of a digest without a key.
type work struct {
	passes, memory uint32 // memory is in KiB
	lanes          uint8
}

// unkeyedWork is the cost that the name of the method unkeyed contains. Tests that are not about the cost reduce it.
var unkeyedWork = work{passes: 3, memory: 64 << 10, lanes: 4}

// sum returns a digest that takes much time and memory to compute, because an attacker who has the digest can try many
// values.
func (w work) sum(value string, salt []byte) []byte {
	slowly.Lock()
	defer slowly.Unlock()
	return argon2.IDKey([]byte(value), salt, w.passes, w.memory, w.lanes, sha256.Size)
}

// slowly ensures that only one digest without a key is computed at a time, because each needs 64 MiB of memory.
var slowly sync.Mutex

// record is the private data of an object of the type lethe_secret_version.
type record struct {
	Version     int64 `json:"version,omitempty"`
	KeyRevision int64 `json:"key_revision,omitempty"`
	digest
	Plan *planning `json:"plan,omitempty"` // only in the private data of a plan; nil in the private data of a state
}

// planning has the members that only planned private data have.
type planning struct {
	Run       string          `json:"run"`                 // identifies the process that made the plan
	Undecided bool            `json:"undecided,omitempty"` // the value or the key was unknown
	Was       json.RawMessage `json:"was,omitempty"`       // the private data before the change
}

// isPlan reports whether the record belongs to a plan with known numbers (version and key revision).
func (r record) isPlan() bool { return r.exists() && r.Plan != nil && !r.Plan.Undecided }

var errRecord = errors.New("its private data in the state cannot be read")

// readRecord decodes private data. It returns an empty record for empty data, and errRecord for invalid data.
func readRecord(private []byte) (record, error) {
	var r record
	if len(private) == 0 {
		return r, nil
	}
	err := json.Unmarshal(private, &r)
	known := !r.exists() || slices.Contains([]string{keyed, unkeyed}, r.Method) && len(r.Salt) == saltSize && len(r.Sum) == sha256.Size
	if err != nil || !known {
		return record{}, errRecord
	}
	return r, nil
}

// encode returns the record as private data.
func (r record) encode() []byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err) // numbers, texts, bytes and valid JSON can always be encoded
	}
	return b
}
