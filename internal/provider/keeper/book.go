package keeper

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/launch"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"google.golang.org/protobuf/encoding/protowire"
)

// served is a provider that the keeper has started and that is running.
type served struct {
	*launch.Running
	program launch.Program
	end     func()            // ends the process, and removes it from the server; only the first call has an effect
	asked   provider.Provider // client for calls that the keeper makes itself; nil before the first such call
}

// lease is an ephemeral resource that a provider has opened and not closed.
type lease struct {
	provider *served
	typ      string
	private  []byte
	op       journal.Op // number of the opening in the journal of the run; 0: the opening is not in a journal
	name     string     // address of the ephemeral resource
	opened   [2][]byte  // request and answer of the opening, encoded
}

// book has the open leases, in the order in which they were opened. It finds them in the calls that the keeper makes
// for the engine. The messages of these calls are the same in both versions of the protocol.
type book struct {
	mu       sync.Mutex
	open     []*lease
	finished []journal.Op // journal numbers of the leases that were closed, or that did not open
	left     []string     // addresses of the leases for whose closing the engine did not wait
}

type effect uint8

const (
	none    effect = iota // the call has no lasting effect
	changes               // the call changes an object, or invokes an action
	opens
	renews
	closes
)

func effectOf(method string) effect {
	switch _, name, _ := strings.Cut(method[1:], "/"); name {
	case "ApplyResourceChange", "InvokeAction":
		return changes
	case "OpenEphemeralResource":
		return opens
	case "RenewEphemeralResource":
		return renews
	case "CloseEphemeralResource":
		return closes
	}
	return none
}

// note records the effect of an answered call on the leases: an opening adds a lease, a renewal stores the new private
// data, and a closing removes the lease. If the provider failed to close a lease, note also removes it, because the
// engine, which requested the closing, reports the error.
func (b *book) note(p *served, r *request, answer []byte) {
	typ := string(field(r.body, 1))
	b.mu.Lock()
	defer b.mu.Unlock()
	switch effectOf(r.method) {
	case opens:
		// A provider that returned errors or deferred the answer may have opened a lease anyway. Its answer then contains
		// the private data.
		private := field(answer, 4)
		if deferred := field(answer, 5) != nil; private == nil && (deferred || hasError(answer)) {
			b.end(r.op)
			return
		}
		b.finished = slices.DeleteFunc(b.finished, func(op journal.Op) bool { return op == r.op }) // an earlier attempt of this opening failed, and added its number
		b.open = append(b.open, &lease{p, typ, private, r.op, string(r.note), [2][]byte{r.body, answer}})
	case renews:
		if l := b.find(p, typ, field(r.body, 2)); l != nil && !hasError(answer) {
			if private := field(answer, 3); private != nil {
				l.private = private
			}
		}
	case closes:
		if l := b.find(p, typ, field(r.body, 2)); l != nil {
			b.drop(l)
			if !hasError(answer) {
				b.end(l.op)
			}
		}
	}
}

// giveUp removes a lease for whose closing the engine no longer waits, and adds its address to b.left.
func (b *book) giveUp(p *served, r *request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l := b.find(p, string(field(r.body, 1)), field(r.body, 2)); l != nil {
		b.drop(l)
		b.left = append(b.left, l.name)
	}
}

// names returns the addresses of the leases that are open, and of the leases for whose closing the engine did not wait.
func (b *book) names() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	names := append([]string{}, b.left...)
	for _, l := range b.open {
		names = append(names, l.name)
	}
	return names
}

// find returns the lease that has the type and the private data of a request, or nil. The process p opened the lease,
// or another process of the same provider, which crashed and was replaced by p, opened it.
func (b *book) find(p *served, typ string, private []byte) (found *lease) {
	for _, l := range b.open {
		if l.typ != typ || !bytes.Equal(l.private, private) {
			continue
		}
		if l.provider == p || l.provider.program.Provider == p.program.Provider && (found == nil || found.provider != p) {
			found = l
		}
	}
	return found
}

func (b *book) end(op journal.Op) {
	if op != 0 {
		b.finished = append(b.finished, op)
	}
}

func (b *book) drop(l *lease) {
	b.open = slices.DeleteFunc(b.open, func(x *lease) bool { return x == l })
}

// leases returns the open leases, the last opened first.
func (b *book) leases() []*lease {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := slices.Clone(b.open)
	slices.Reverse(all)
	return all
}

// forget sets the journal number of each lease to 0, because the journal was closed.
func (b *book) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.finished = nil
	for _, l := range b.open {
		l.op = 0
	}
}

// ended calls f with the journal number of each lease that was closed or did not open.
func (b *book) ended(f func(journal.Op)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, op := range b.finished {
		f(op)
	}
}

// closed records that the keeper has closed a lease.
func (b *book) closed(l *lease) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop(l)
	b.end(l.op)
}

// closing returns the encoded request that closes the lease.
func (l *lease) closing() []byte {
	out := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), []byte(l.typ))
	if l.private != nil {
		out = protowire.AppendBytes(protowire.AppendTag(out, 2, protowire.BytesType), l.private)
	}
	return out
}

// field returns the last value of a bytes field of an encoded message, or nil if the message has no such field.
func field(message []byte, number protowire.Number) (value []byte) {
	fields(message, func(n protowire.Number, v []byte) {
		if n == number {
			value = append([]byte{}, v...)
		}
	})
	return value
}

// hasError reports whether the diagnostics of an encoded answer contain an error. The diagnostics are field 1 of the
// answer. Field 1 of a diagnostic is its severity, and 1 means an error.
func hasError(answer []byte) (found bool) {
	fields(answer, func(n protowire.Number, d []byte) {
		for n == 1 && len(d) > 0 {
			num, typ, tag := protowire.ConsumeTag(d)
			size := protowire.ConsumeFieldValue(num, typ, d[max(tag, 0):])
			if tag < 0 || size < 0 {
				return
			}
			if v, _ := protowire.ConsumeVarint(d[tag:]); num == 1 && typ == protowire.VarintType && v == 1 {
				found = true
			}
			d = d[tag+size:]
		}
	})
	return found
}

// fields calls do with the number and the content of each bytes field of an encoded message. It stops at malformed
// data.
func fields(message []byte, do func(protowire.Number, []byte)) {
	for len(message) > 0 {
		num, typ, tag := protowire.ConsumeTag(message)
		if tag < 0 {
			return
		}
		size := protowire.ConsumeFieldValue(num, typ, message[tag:])
		if size < 0 {
			return
		}
		if typ == protowire.BytesType {
			v, _ := protowire.ConsumeBytes(message[tag:])
			do(num, v)
		}
		message = message[tag+size:]
	}
}
