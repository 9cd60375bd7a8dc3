package object

import (
	"slices"

	"github.com/tinylib/msgp/msgp"
)

// peekString reads one string member of a MessagePack map without decoding the rest. It reports
// false for anything that is not a plain string, and for malformed input.
func peekString(b []byte, name string) (string, bool) {
	text, _, err := msgp.ReadStringBytes(msgp.Locate(name, b))
	return text, err == nil
}

// nullIn reports whether b is a MessagePack map in which all members of these names are null, as
// far as that can be seen without decoding it: false means that it has to be.
func nullIn(b []byte, names []string) bool {
	n, b, err := msgp.ReadMapHeaderBytes(b)
	for ; err == nil && n > 0; n-- {
		var key []byte
		if key, b, err = msgp.ReadStringZC(b); err != nil || slices.Contains(names, string(key)) && !msgp.IsNil(b) {
			return false
		}
		b, err = msgp.Skip(b)
	}
	return err == nil && len(b) == 0
}
