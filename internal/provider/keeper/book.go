package keeper

import (
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
)

// lease is something that a provider has opened.
type lease struct {
	provider *served
	typ      string
	private  []byte
}

// book has the leases that are open, in the order in which they were opened. It knows of them by the calls that pass,
// whose messages are the same in both versions of the protocol.
type book struct {
	mu   sync.Mutex
	open []*lease
}

// effect is what a call does.
type effect uint8

const (
	none    effect = iota // nothing that lasts
	changes               // something real
	opens
	renews
	closes
)

func effectOf(method string) effect {
	switch _, name, _ := strings.Cut(method[1:], "/"); name {
	case "ApplyResourceChange":
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

// note takes note of a call that was answered.
func (b *book) note(e effect, p *served, request, answer []byte) {
	typ := string(field(request, 1))
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e {
	case opens:
		// A provider that had errors may have opened something all the same. It answers with what was opened.
		if private := field(answer, 4); field(answer, 5) == nil && (private != nil || field(answer, 3) != nil) {
			b.open = append(b.open, &lease{p, typ, private})
		}
	case renews:
		if l := b.find(p, typ, field(request, 2)); l != nil && !hasError(answer) {
			l.private = field(answer, 3)
		}
	case closes:
		if l := b.find(p, typ, field(request, 2)); l != nil && !hasError(answer) {
			b.open = slices.DeleteFunc(b.open, func(x *lease) bool { return x == l })
		}
	}
}

func (b *book) find(p *served, typ string, private []byte) *lease {
	for _, l := range slices.Backward(b.open) {
		if l.provider == p && l.typ == typ && string(l.private) == string(private) {
			return l
		}
	}
	return nil
}

// last is the one that was opened last, nil if none is open.
func (b *book) last() *lease {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.open) == 0 {
		return nil
	}
	return b.open[len(b.open)-1]
}

// drop forgets a lease.
func (b *book) drop(l *lease) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open = slices.DeleteFunc(b.open, func(x *lease) bool { return x == l })
}

// closing is the request that closes a lease.
func (l *lease) closing() []byte {
	out := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), []byte(l.typ))
	if l.private != nil {
		out = protowire.AppendBytes(protowire.AppendTag(out, 2, protowire.BytesType), l.private)
	}
	return out
}

// field is the last value of a message's field of bytes, nil if there is none.
func field(message []byte, number protowire.Number) (value []byte) {
	fields(message, func(n protowire.Number, v []byte) {
		if n == number {
			value = append([]byte{}, v...)
		}
	})
	return value
}

// hasError reports whether there is an error among an answer's diagnostics: its field 1, whose field 1 is the
// severity, where 1 is an error.
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

// fields goes through the fields of bytes of a message, as far as it can be read.
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
