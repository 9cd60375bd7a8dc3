package lethe

import (
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/builtin"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/subprocess"
	"github.com/zclconf/go-cty/cty"
)

// leastKey is the minimum number of bytes of a key for the digests of secret versions.
const leastKey = 16

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

// readKeys reads the keys for digests from the settings. If the settings have no key, it reads the current key from the
// environment.
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
