package lethe

import (
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/builtin"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/subprocess"
	"github.com/zclconf/go-cty/cty"
)

// leastKey is the minimum number of bytes of a version key.
const leastKey = 16

// versionKeys are the keys of digests.
type versionKeys struct{ current, previous versionKey }

// versionKey is a key. The zero value means that no key is given.
type versionKey struct {
	text    string
	unknown bool
}

// settings returns the settings of the provider.
func (p *Provider) settings() *builtin.Settings {
	secret := func(name, about string) *schema.Attr {
		return &schema.Attr{Name: name, Type: cty.String, Optional: true, Sensitive: true, Description: about}
	}
	return &builtin.Settings{
		Schema: describe("The settings of the built-in provider.",
			secret("version_key", "The key of the digests that lethe_secret_version stores; default: the environment variable "+subprocess.VersionKey+"."),
			secret("version_key_previous", "The former key. Digests that were made with it are made again with version_key, and the versions stay the same."),
		),
		Validate: func(config cty.Value) provider.Diags {
			_, ds := p.readKeys(config)
			return ds
		},
		Configure: func(config cty.Value) (ds provider.Diags) {
			p.keys, ds = p.readKeys(config)
			return ds
		},
	}
}

// readKeys reads the keys from the settings and the environment.
func (p *Provider) readKeys(config cty.Value) (versionKeys, provider.Diags) {
	var ds provider.Diags
	read := func(name string) versionKey {
		v := config.GetAttr(name)
		if !v.IsKnown() {
			return versionKey{unknown: true}
		}
		k := versionKey{text: schema.Text(config, name)}
		if !v.IsNull() && len(k.text) < leastKey {
			ds = append(ds, refused(name, "Invalid version key", "%s must have at least %d characters, because a reader of the state can try keys. Use random characters.", name, leastKey))
		}
		return k
	}
	keys := versionKeys{read("version_key"), read("version_key_previous")}
	if keys.current == (versionKey{}) && config.GetAttr("version_key").IsNull() {
		keys.current.text = p.getenv(subprocess.VersionKey)
		if n := len(keys.current.text); n > 0 && n < leastKey {
			ds = append(ds, diag.Errorf("Invalid version key", "The environment variable %s must have at least %d characters, because a reader of the state can try keys. Use random characters.", subprocess.VersionKey, leastKey))
		}
	}
	return keys, ds
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
		return diag.Errorf("Missing version key", "The digest of this secret was made with a version key, and there is none now. Set version_key in the provider block, or %s. %s", subprocess.VersionKey, again)
	}
	return diag.Errorf("Wrong version key", "The digest of this secret was made with another version key, so Lethe cannot see whether the secret has changed. Use that key. If you have changed the key, set version_key_previous to the former key. %s", again)
}
