package journal

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"strconv"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/jsontext"
	"github.com/lethe-iac/lethe/internal/state"
)

// A record on disk is
//
//	mark     4 bytes, so that the next whole record is found after a damaged one
//	type     1 byte
//	number   4 bytes, counting from 0, so that missing records are noticed
//	length   4 bytes, of the payload
//	checksum 4 bytes, CRC-32C of type, number, length and payload
//	payload  JSON; encrypted if the first record is a key: a nonce, and the AES-256-GCM ciphertext with type
//	         and number as additional data
//
// with numbers in little-endian order. The header record begins the file, or follows the key.

var mark = []byte{0x9e, 'L', 'J', 0x01} // the last byte is the version of the record format

const frameSize = 17

type kind byte

const (
	headerRecord  kind = 'H' // the state that the journal continues, and the run: a Header
	intentRecord  kind = 'I' // a provider call is about to be made
	resultRecord  kind = 'R' // the changes of a call, or of a step without a call
	endRecord     kind = 'E' // the run is about to write the state at its end
	leaseRecord   kind = 'L' // a lease is about to be opened
	closedRecord  kind = 'O' // the lease is closed, or was not opened
	earlierRecord kind = 'W' // objects that were written with values that later rounds (plans and applies) of the run need (ADR 52); the last such record counts
	foundRecord   kind = 'F' // the entries that a run found at the addresses of its changes, while other runs work on other parts of the state
	interimRecord kind = 'S' // an interim state is about to be written, or was written
	keyRecord     kind = 'K' // the encrypted key of the following payloads: the first record of an encrypted journal. A journal that is not encrypted has no such record
)

// castagnoli returns the checksum table. The table is made on first use, because most commands need no journal.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// appendRecord appends a record with a payload to dst.
func appendRecord(dst []byte, k kind, number uint32, payload []byte) []byte {
	from := len(dst)
	dst = append(dst, mark...)
	dst = append(dst, byte(k))
	dst = binary.LittleEndian.AppendUint32(dst, number)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(payload)))
	sum := crc32.Update(crc32.Checksum(dst[from+4:], castagnoli()), castagnoli(), payload)
	dst = binary.LittleEndian.AppendUint32(dst, sum)
	return append(dst, payload...)
}

// record is one record of a journal as read, perhaps decrypted.
type record struct {
	kind    kind
	number  uint32
	payload []byte
}

// firstRecord reads the record at the start of data. It returns false if data does not start with an undamaged record.
func firstRecord(data []byte) (r record, size int, ok bool) {
	if len(data) < frameSize || !bytes.HasPrefix(data, mark) {
		return record{}, 0, false
	}
	n := binary.LittleEndian.Uint32(data[9:])
	if uint64(n) > uint64(len(data)-frameSize) {
		return record{}, 0, false
	}
	size = frameSize + int(n)
	payload := data[frameSize:size:size]
	sum := crc32.Update(crc32.Checksum(data[4:13], castagnoli()), castagnoli(), payload)
	if sum != binary.LittleEndian.Uint32(data[13:]) {
		return record{}, 0, false
	}
	return record{kind(data[4]), binary.LittleEndian.Uint32(data[5:]), payload}, size, true
}

// records returns all undamaged records of a journal, and the number of damaged bytes between them. Bytes after the
// last undamaged record do not count as damaged, because no caller was told that they are durable.
func records(data []byte) (out []record, damaged int) {
	for skipped := 0; ; {
		r, size, ok := firstRecord(data)
		if ok {
			out = append(out, r)
			damaged += skipped
			skipped = 0
			data = data[size:]
			continue
		}
		next := -1
		if len(data) > 0 {
			next = bytes.Index(data[1:], mark)
		}
		if next < 0 {
			return out, damaged
		}
		skipped += next + 1
		data = data[next+1:]
	}
}

// These types are the payloads of the records. The payload of a header is a Header.

type intentJSON struct {
	Op       Op                    `json:"op"`
	Object   string                `json:"object"`
	Deposed  string                `json:"deposed,omitempty"`
	Action   string                `json:"action"`
	Provider addr.ProviderInstance `json:"provider"`
	Known    map[string]string     `json:"known,omitempty"`
	Run      string                `json:"run,omitempty"` // the ID of the earlier run that made the call, if the record is a copy; Was is set only then
	Was      state.Digest          `json:"was,omitzero"`  // the digest of the object's entry when the journal of that run was replayed
	Time     time.Time             `json:"time"`
}

type resultJSON struct {
	Op      Op                `json:"op"`
	Changed []json.RawMessage `json:"changed"`
}

type endJSON struct {
	Next state.Digest `json:"next"`
}

// interimJSON is the payload of the record about an interim state: a state that a long run writes before its end.
type interimJSON struct {
	Next    state.Digest `json:"next"`              // the digest of the state's text
	Before  uint32       `json:"before"`            // the interim state has all changes of the records with smaller numbers
	Written bool         `json:"written,omitempty"` // the store has confirmed the state
}

type leaseJSON struct {
	Op Op `json:"op"`
	Lease
}

type foundJSON struct {
	Found map[string]state.Digest `json:"found"`          // the digests of the entries of objects, by address
	Some  bool                    `json:"some,omitempty"` // if true, the digests of other objects are unknown; otherwise other objects did not exist
}

type earlierJSON struct {
	Earlier []EarlierValue `json:"earlier"`
}

type closedJSON struct {
	Op Op `json:"op"`
}

// entryDigest identifies the content of an entry, for comparison. For nil it returns zero. It ignores dependencies,
// because a state merges the dependencies of an object with those of other objects. It ignores the provider, because a
// state names one provider for all instances of a resource.
func entryDigest(o addr.Object, e *state.Entry) state.Digest {
	if e == nil {
		return state.Digest{}
	}
	plain := *e
	plain.Recorded, plain.Provider = nil, addr.ProviderInstance{}
	for _, text := range []*[]byte{&plain.Attrs, &plain.Identity, &plain.Extra} { // a state file has these texts with white space, a journal without
		if *text != nil {
			*text = jsontext.AppendCompact(nil, *text)
		}
	}
	return state.DigestOf(state.AppendObject(nil, o, &plain))
}

func encode(v any) []byte {
	out, err := json.Marshal(v)
	if err != nil { // fails only for a time after the year 9999
		panic(err)
	}
	return out
}

// decode decodes the JSON payload of a record.
func decode[T any](payload []byte) (v T, err error) {
	err = json.Unmarshal(payload, &v)
	return v, err
}

func encodeIntent(op Op, u Unknown) []byte {
	return encode(intentJSON{op, u.Object.Instance.String(), u.Object.Deposed, u.Action, u.Provider, u.Known, u.Run, u.was, u.Time})
}

func decodeIntent(payload []byte) (Op, Unknown, error) {
	j, err := decode[intentJSON](payload)
	if err != nil {
		return 0, Unknown{}, err
	}
	i, err := addr.ParseInstance(j.Object)
	return j.Op, Unknown{Run: j.Run, Time: j.Time, was: j.Was, Intent: Intent{Object: addr.Object{Instance: i, Deposed: j.Deposed}, Action: j.Action, Provider: j.Provider, Known: j.Known}}, err
}

// encodeResult encodes the changes of a call. It copies the stored form of entries, without decoding their attributes.
func encodeResult(op Op, changed []Change) []byte {
	size := 64
	for _, c := range changed {
		size += 512
		if c.Entry != nil {
			size += len(c.Entry.Attrs) + 2*len(c.Entry.Private)
		}
	}
	dst := strconv.AppendUint(append(make([]byte, 0, size), `{"op":`...), uint64(op), 10)
	dst = append(dst, `,"changed":[`...)
	for i, c := range changed {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = state.AppendObject(dst, c.Object, c.Entry)
	}
	return append(dst, "]}"...)
}

func decodeResult(p *state.ObjectParser, payload []byte) (Op, []Change, error) {
	j, err := decode[resultJSON](payload)
	if err != nil {
		return 0, nil, err
	}
	var out []Change
	for _, raw := range j.Changed {
		o, e, err := p.Parse(raw)
		if err != nil {
			return 0, nil, err
		}
		out = append(out, Change{o, e})
	}
	return j.Op, out, nil
}
