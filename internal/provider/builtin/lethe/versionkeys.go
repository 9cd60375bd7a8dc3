package lethe

import (
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/subprocess"
)

// versionKeys are the keys of digests.
type versionKeys struct{ current, previous versionKey }

// versionKey is a key. The zero value means that no key is given.
type versionKey struct {
	text    string
	unknown bool
}

// fit is the result of looking for the key of a digest.
type fit uint8

const (
	keyFits    fit = iota
	keyUnknown     // a key that may fit is not known yet
	keyWrong       // no key fits
)

// fitting returns the key that a digest was made with, "" for none. It returns keyUnknown if the current key is unknown,
// because the digest may have to be made again with it.
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

// wrong returns the error for a digest that no key fits.
func (k versionKeys) wrong() diag.Diagnostic {
	const again = "To give up the comparison, remove the object from the state and import it again with its version."
	if k.current.text == "" {
		return diag.Errorf("Missing version key", "The digest of this secret was made with a version key, but no key is set. Set version_key in the provider block, or %s. %s", subprocess.VersionKey, again)
	}
	return diag.Errorf("Wrong version key", "The digest of this secret was made with another version key, so Lethe cannot see whether the secret has changed. Use that key. If you have changed the key, set version_key_previous to the former key. %s", again)
}
