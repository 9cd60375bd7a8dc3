package jsontext

import "bytes"

// Same reports whether two JSON texts are equal but for white space and HTML-sensitive characters, which some
// writers escape. It says no to strings spelled in other ways, and to objects whose members are in different order:
// that costs a write, no more.
func Same(a, b []byte) bool {
	return bytes.Equal(a, b) || bytes.Equal(appendLaidOut(nil, a, 0), appendLaidOut(nil, b, 0))
}
