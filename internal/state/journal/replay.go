package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/state"
)

// MismatchError reports that a journal cannot be applied to the present state: the journal continues another state, or
// its header or another record is invalid. If the header cannot be read, Header is zero.
type MismatchError struct {
	Header Header
	Reason string
	Leases []Lease // the leases without a recorded end, which matter although the state does not fit
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("the journal of run %s is about another state: %s", e.Header.Run, e.Reason)
}

// ErrNothing reports that a journal has no undamaged record, not even its header. The run has made no provider call,
// because the first intent is durable only after the header.
var ErrNothing = errors.New("the journal is empty")

// Replay applies a journal to base, the state that it continues. base must be the unchanged result of reading the
// state; it is nil if the state does not exist. Replay leaves out damaged and torn records: a call whose result was in
// such a record has an unknown outcome. The error is ErrNothing, a *MismatchError, or the reason why the journal cannot
// be decrypted.
func Replay(data []byte, base *state.Snapshot, seal Sealing) (*Recovery, error) {
	return replayRest(data, base, seal, nil)
}

// Already returns how many records of the journal with the given header another process has already replayed, from a
// copy of the journal. A nil Already means none.
type Already func(Header) (uint32, error)

func replayRest(data []byte, base *state.Snapshot, seal Sealing, already Already) (*Recovery, error) {
	list, damaged := records(data)
	list, key, lost, err := opened(list, seal)
	if err != nil {
		return nil, err
	}
	damaged += lost
	payload, err := header(list)
	if err != nil {
		return nil, err
	}
	h, err := decode[Header](payload)
	if err != nil {
		return nil, &MismatchError{Reason: fmt.Sprintf("its header is invalid: %v", err)}
	}
	p := replay{Recovery: Recovery{Header: h, Snapshot: base, Damaged: damaged, key: key}, open: map[Op]int{}, earlier: map[addr.Object][]int{}, closed: map[Op]bool{}}
	p.count(list)
	if err := p.read(list); err != nil {
		return nil, &MismatchError{h, err.Error(), p.openLeases()}
	}
	p.Leases = p.openLeases()
	p.list()
	if slices.Contains(p.ends, base.Digest()) {
		p.Written = true
		p.settle()
		return &p.Recovery, nil
	}
	if before, ok := p.interim(base.Digest()); ok {
		p.drop(before)
	} else if reason := p.mismatch(base); reason != "" {
		p.known = p.written
		if base == nil || base.Lineage != h.Lineage || p.found == nil && p.unwritten() {
			return nil, &MismatchError{h, reason, p.Leases}
		}
		if p.found != nil && already != nil {
			n, err := already(h)
			if err != nil {
				return nil, err
			}
			p.known = max(p.known, n)
		}
		p.choose(base)
	}
	p.apply(base)
	p.settle()
	return &p.Recovery, nil
}

// header returns the payload of the header record: the first record, or the second record after a key. Without any
// record, the error is ErrNothing. If the header is missing, the error is a *MismatchError.
func header(list []record) ([]byte, error) {
	if len(list) == 0 {
		return nil, ErrNothing
	}
	if list[0].kind == keyRecord && len(list) > 1 {
		list = list[1:]
	}
	if list[0].kind != headerRecord {
		return nil, &MismatchError{Reason: "its header is damaged, so the state is not known"}
	}
	return list[0].payload, nil
}

// replay has the data of one call of Replay.
type replay struct {
	Recovery
	intents  []Unknown
	settled  []bool
	open     map[Op]int            // the calls without an outcome: indexes in intents, by call
	earlier  map[addr.Object][]int // the calls of earlier runs: indexes in intents, by object
	changes  []Change
	numbers  []uint32 // the record number of each change
	known    uint32   // another process has replayed the records with smaller numbers
	parser   state.ObjectParser
	ends     []state.Digest
	interims []interimJSON
	written  uint32                  // an interim state that the store has confirmed has the changes of the records with smaller numbers
	found    map[string]state.Digest // the entries of objects as the run found them, by address; nil means that no other run used the state
	some     bool                    // for objects that are not in found, the content that the run found is unknown
	leases   []leaseJSON
	closed   map[Op]bool
}

// count counts the records that are missing from the sequence of record numbers.
func (p *replay) count(list []record) {
	p.next = list[len(list)-1].number + 1
	for i, r := range list {
		if expect := uint32(i + p.Missing); r.number > expect {
			p.Missing += int(r.number - expect)
		}
	}
}

func (p *replay) read(list []record) error {
	for _, r := range list {
		var err error
		switch r.kind {
		case headerRecord, keyRecord:
		case intentRecord:
			err = p.intent(r.payload)
		case resultRecord:
			err = p.result(r.payload)
			for len(p.numbers) < len(p.changes) {
				p.numbers = append(p.numbers, r.number)
			}
		case endRecord:
			err = p.end(r.payload)
		case interimRecord:
			var j interimJSON
			if j, err = decode[interimJSON](r.payload); j.Written {
				p.written = max(p.written, j.Before)
			}
			p.interims = append(p.interims, j)
		case foundRecord:
			var j foundJSON
			j, err = decode[foundJSON](r.payload)
			p.find(j)
		case leaseRecord:
			err = p.lease(r.payload)
		case closedRecord:
			err = p.closeLease(r.payload)
		case earlierRecord:
			var j earlierJSON
			j, err = decode[earlierJSON](r.payload)
			p.Earlier = j.Earlier
		default:
			err = fmt.Errorf("record %d is of the unknown kind %q", r.number, r.kind)
		}
		if err != nil {
			return fmt.Errorf("record %d, written by version %s, is invalid: %w", r.number, p.Header.Version, err)
		}
	}
	return nil
}

func (p *replay) intent(payload []byte) error {
	op, u, err := decodeIntent(payload)
	if err != nil {
		return err
	}
	if u.Run != "" {
		p.earlier[u.Object] = append(p.earlier[u.Object], len(p.intents))
	} else if u.Action == Invoke {
		p.Invoked = true
	}
	p.ops = max(p.ops, op)
	p.open[op] = len(p.intents)
	p.intents = append(p.intents, u)
	p.settled = append(p.settled, false)
	return nil
}

// result replays the changes of a call as one transaction, and settles the call. It also settles calls of earlier runs
// about the changed objects, because the present objects at these addresses are now known.
func (p *replay) result(payload []byte) error {
	op, changed, err := decodeResult(&p.parser, payload)
	if err != nil {
		return err
	}
	if i, ok := p.open[op]; ok {
		p.settled[i] = true
	}
	for _, c := range changed {
		for _, i := range p.earlier[c.Object] {
			p.settled[i] = p.settled[i] || c.Entry != nil // a nil entry means that another creation failed, so the outcome of the earlier call stays unknown
		}
	}
	p.changes = append(p.changes, changed...)
	return nil
}

// find records the digests of objects as the run found them.
func (p *replay) find(j foundJSON) {
	if p.found == nil {
		p.found, p.some = map[string]state.Digest{}, j.Some
	}
	maps.Copy(p.found, j.Found)
}

func (p *replay) end(payload []byte) error {
	j, err := decode[endJSON](payload)
	if j.Next != (state.Digest{}) {
		p.ends = append(p.ends, j.Next)
	}
	return err
}

// interim returns the field Before of the interim state with the digest d: that state has the changes of all records
// with smaller numbers. It returns false if the journal names no such interim state.
func (p *replay) interim(d state.Digest) (before uint32, ok bool) {
	for _, j := range p.interims {
		if j.Next == d {
			before, ok = j.Before, true
		}
	}
	return before, ok
}

// drop removes the changes of the records that precede the record with a number, because an interim state already has
// these changes.
func (p *replay) drop(before uint32) {
	n := 0
	for n < len(p.numbers) && p.numbers[n] < before {
		n++
	}
	p.changes, p.numbers, p.Objects = p.changes[n:], p.numbers[n:], nil
	p.list()
}

// unwritten reports whether the run recorded changes after the last interim state whose write the store confirmed.
func (p *replay) unwritten() bool {
	n := len(p.numbers)
	return n > 0 && p.numbers[n-1] >= p.written
}

func (p *replay) lease(payload []byte) error {
	l, err := decode[leaseJSON](payload)
	p.ops = max(p.ops, l.Op)
	p.leases = append(p.leases, l)
	return err
}

func (p *replay) closeLease(payload []byte) error {
	j, err := decode[closedJSON](payload)
	p.closed[j.Op] = true
	return err
}

// openLeases returns the leases without a recorded end.
func (p *replay) openLeases() []Lease {
	var out []Lease
	for _, l := range p.leases {
		if !p.closed[l.Op] {
			out = append(out, l.Lease)
		}
	}
	return out
}

// mismatch returns the reason why the journal does not continue the state base, or "" if it does.
func (p *replay) mismatch(base *state.Snapshot) string {
	h := p.Header
	switch {
	case h.Continues(base.Digest()):
		return ""
	case base == nil:
		return fmt.Sprintf("it belongs to serial %d, and there is no state", h.Serial)
	case h.Base == (state.Digest{}):
		return fmt.Sprintf("there was no state when that run started, and now a state with serial %d exists", base.Serial)
	case h.Lineage != base.Lineage:
		return fmt.Sprintf("that state has the lineage %q, and this state %q", h.Lineage, base.Lineage)
	case h.Serial != base.Serial:
		return fmt.Sprintf("it belongs to serial %d, and the state has serial %d", h.Serial, base.Serial)
	}
	return fmt.Sprintf("the state has the same serial %d, but was changed", base.Serial)
}

// list sets p.Objects to the changed objects, without duplicates.
func (p *replay) list() {
	seen := map[addr.Object]bool{}
	for _, c := range p.changes {
		if !seen[c.Object] {
			seen[c.Object] = true
			p.Objects = append(p.Objects, c.Object)
		}
	}
}

// choose reduces the changes to the last recorded change of each object, and only if base still has that object as the
// run found it. If base has the object as the run left it, the change was written before the run ended. If another
// process has replayed a change from a copy of the journal, base has the change already.
func (p *replay) choose(base *state.Snapshot) {
	last, rest, digests := map[addr.Object]*state.Entry{}, map[addr.Object]bool{}, map[addr.Object]state.Digest{}
	for i, c := range p.changes {
		last[c.Object], rest[c.Object] = c.Entry, p.numbers[i] >= p.known
		if !rest[c.Object] {
			digests[c.Object] = entryDigest(c.Object, c.Entry)
		}
	}
	p.changes = nil
	for _, o := range p.Objects {
		found, known := p.found[o.String()]
		if was, ok := digests[o]; ok {
			found, known = was, true
		}
		switch now := entryDigest(o, base.Get(o)); {
		case !rest[o]:
		case now == entryDigest(o, last[o]):
		case now == found && (known || !p.some):
			p.changes = append(p.changes, Change{o, last[o]})
		default:
			p.Refused = append(p.Refused, o)
		}
	}
}

func (p *replay) apply(base *state.Snapshot) {
	p.Changes = len(p.changes)
	if p.Changes == 0 {
		return
	}
	e := base.Edit()
	if head := e.Head(); head.Lineage == "" {
		head.Lineage = p.Header.Lineage
	}
	for _, c := range p.changes {
		e.Put(c.Object, c.Entry)
	}
	p.Snapshot = e.Done()
}

// settle lists the calls without a recorded outcome in p.Unknown. It omits calls of earlier runs whose outcome no
// longer matters (see Unknown.Settled).
func (p *replay) settle() {
	for i, u := range p.intents {
		fresh := u.Run == ""
		if fresh {
			u.Run, u.was = p.Header.Run, entryDigest(u.Object, p.Snapshot.Get(u.Object))
		}
		if !p.settled[i] && (fresh || !u.Settled(p.Snapshot, false)) {
			p.Unknown = append(p.Unknown, u)
		}
	}
}

// Recover reads the journal at path and replays it on base, the present state. It returns nil without an error if the
// file is missing or has no undamaged record: then no call was made with this journal.
func Recover(fsys disk.FS, path string, base *state.Snapshot, seal Sealing) (*Recovery, error) {
	return RecoverRest(fsys, path, base, seal, nil)
}

// RecoverRest recovers the journal at path like Recover, but skips the records that another process has already
// replayed. already returns their number; nil means none. It returns nil and nil if the journal is missing or empty.
func RecoverRest(fsys disk.FS, path string, base *state.Snapshot, seal Sealing, already Already) (*Recovery, error) {
	data, err := disk.Read(fsys, path)
	if err != nil {
		return nil, fmt.Errorf("the journal cannot be read: %w", err)
	}
	if data == nil {
		return nil, nil
	}
	r, err := replayRest(data, base, seal, already)
	if errors.Is(err, ErrNothing) {
		return nil, nil
	}
	return r, err
}

// Conclude records in a journal that a state with all changes of the journal is about to be written. The argument next
// is the digest of this state. If the command is interrupted after that write, but before it removes the journal, the
// next recovery knows that the state has all changes.
func (r *Recovery) Conclude(fsys disk.FS, path string, next state.Digest) error {
	w, err := r.Continue(path, "", Options{FS: fsys})
	if err != nil {
		return err
	}
	return errors.Join(w.End(next), w.Close())
}

// Remove removes the journal at path durably. A missing journal is no error.
func Remove(fsys disk.FS, path string) error {
	err := fsys.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the journal cannot be removed: %w", err)
	}
	return disk.SyncDir(fsys, filepath.Dir(path))
}

// Aside renames a journal that cannot be applied to PATH.aside-N, and returns its new path. It does not delete the
// journal, because its content may exist nowhere else.
func Aside(fsys disk.FS, path string) (string, error) {
	for n := 1; ; n++ {
		to := fmt.Sprintf("%s.aside-%d", path, n)
		if _, err := fsys.Lstat(to); err == nil {
			continue
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if err := fsys.Rename(path, to); err != nil {
			return "", fmt.Errorf("the journal cannot be renamed: %w", err)
		}
		return to, disk.SyncDir(fsys, filepath.Dir(path))
	}
}
