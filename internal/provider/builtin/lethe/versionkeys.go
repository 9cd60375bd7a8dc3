package lethe

import (
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/subprocess"
)

// versionKeys are the keys for digests: the present key, and the former key.
type versionKeys struct{ current, previous versionKey }

// versionKey is the text of a key from the provider's settings, or an unknown key. The zero value means that the key is
// not set.
type versionKey struct {
	text    string
	unknown bool
}

// fit is the result of the search for the key of a digest.
type fit uint8

const (
	keyFits    fit = iota
	keyUnknown     // a key that may fit is unknown
	keyWrong       // no key fits
)

// fitting returns the key with which a digest was made, or "" if it was made without a key. If no digest exists, it
// returns the current key. If the current key is unknown, fitting returns keyUnknown, because the digest may have to be
// made again with this key.
func (k versionKeys) fitting(d digest) (string, fit) {
	switch {
	case k.current.unknown:
		return "", keyUnknown
	case !d.exists() || d.fits(k.current.text):
		return k.current.text, keyFits
	case d.Method == unkeyed:
		return "", keyFits
	case k.previous.unknown:
		return "", keyUnknown
	case k.previous.text != "" && d.fits(k.previous.text):
		return k.previous.text, keyFits
	}
	return "", keyWrong
}

// wrong returns the error about a digest for which no key fits.
func (k versionKeys) wrong() diag.Diagnostic {
	const again = "To give up the comparison, remove the object from the state and import it again with its version."
	if k.current.text == "" {
		return diag.Errorf("Missing version key", "The digest of this secret was made with a version key, but no key is set. Set version_key in the provider block, or %s. %s", subprocess.VersionKey, again)
	}
	return diag.Errorf("Wrong version key", "The digest of this secret was made with another version key, so Lethe cannot see whether the secret has changed. Use that key. If you have changed the key, set version_key_previous to the former key. %s", again)
}
