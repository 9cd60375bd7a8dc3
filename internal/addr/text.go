package addr

import (
	"errors"
	"fmt"
	"strings"
)

// Addresses are text in files that keep them (saved plans): what String gives, which the matching
// parser reads back to an equal address. A hidden key has no such form, since it is made of a value
// that no file may have.

var errHidden = errors.New("an instance key is ephemeral, and must not be stored")

// MarshalText gives `[0]`, `["a"]` or "".
func (k Key) MarshalText() ([]byte, error) {
	if k.hidden {
		return nil, errHidden
	}
	return []byte(k.String()), nil
}

// UnmarshalText reads what MarshalText gives.
func (k *Key) UnmarshalText(text []byte) (err error) {
	p := parser{in: string(text)}
	if *k, _, err = p.key(); err == nil && !p.done() {
		err = fmt.Errorf("%q is not an instance key", text)
	}
	return err
}

// MarshalText gives the instance, with "(deposed object 0a1b2c3d)" after it for a deposed one.
func (o Object) MarshalText() ([]byte, error) {
	for m := o.Module; !m.IsRoot(); m = m.Parent() {
		if _, k := m.Call(); k.hidden {
			return nil, errHidden
		}
	}
	if o.Key.hidden {
		return nil, errHidden
	}
	return []byte(o.String()), nil
}

// UnmarshalText reads what MarshalText gives.
func (o *Object) UnmarshalText(text []byte) (err error) {
	s, deposed := string(text), ""
	if inner, ok := strings.CutSuffix(s, ")"); ok { // no instance ends so
		s, deposed, _ = strings.Cut(inner, " (deposed object ")
		if strings.Contains(deposed, " ") || deposed == "" {
			return fmt.Errorf("%q is not the address of an object", text)
		}
	}
	o.Deposed = deposed
	o.Instance, err = ParseInstance(s)
	return err
}

// MarshalText gives the instance's address.
func (i Instance) MarshalText() ([]byte, error) { return i.Current().MarshalText() }

// UnmarshalText reads what MarshalText gives.
func (i *Instance) UnmarshalText(text []byte) (err error) {
	*i, err = ParseInstance(string(text))
	return err
}

// MarshalText gives the resource's address.
func (r AbsResource) MarshalText() ([]byte, error) { return r.Instance(NoKey).MarshalText() }

// UnmarshalText reads what MarshalText gives.
func (r *AbsResource) UnmarshalText(text []byte) (err error) {
	*r, err = ParseResource(string(text))
	return err
}

// MarshalText gives the declaration's address, without any keys.
func (r Resource) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads what MarshalText gives.
func (r *Resource) UnmarshalText(text []byte) error {
	i, err := ParseResource(string(text))
	*r = i.Resource()
	return err
}

// MarshalText gives "host/namespace/type".
func (p Provider) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads what MarshalText gives.
func (p *Provider) UnmarshalText(text []byte) (err error) {
	*p, err = ParseProvider(string(text))
	return err
}

// MarshalText gives the address as state files write it, "" for the zero value.
func (i ProviderInstance) MarshalText() ([]byte, error) {
	switch {
	case i.Key.hidden:
		return nil, errHidden
	case i == ProviderInstance{}:
		return nil, nil
	}
	return []byte(i.String()), nil
}

// UnmarshalText reads what MarshalText gives.
func (i *ProviderInstance) UnmarshalText(text []byte) (err error) {
	*i = ProviderInstance{}
	if len(text) > 0 {
		*i, err = ParseProviderInstance(string(text))
	}
	return err
}

// MarshalText gives the address as a user writes it: it says which keys were left out.
func (t Target) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads what MarshalText gives.
func (t *Target) UnmarshalText(text []byte) (err error) {
	*t, err = ParseTarget(string(text))
	return err
}
