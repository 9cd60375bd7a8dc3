package addr

import (
	"errors"
	"fmt"
	"strings"
)

// Saved plans contain addresses as text: the result of String, which the matching parser reads back to an equal
// address. A hidden key has no text, because it is made from a value that must not be stored.

var errHidden = errors.New("an instance key is ephemeral, and must not be stored")

// MarshalText returns `[0]`, `["a"]` or "". It returns an error for a hidden key.
func (k Key) MarshalText() ([]byte, error) {
	if k.hidden {
		return nil, errHidden
	}
	return []byte(k.String()), nil
}

// UnmarshalText parses a key in the form of MarshalText. Any other text is an error.
func (k *Key) UnmarshalText(text []byte) (err error) {
	p := parser{in: string(text)}
	if *k, _, err = p.key(); err == nil && !p.done() {
		err = fmt.Errorf("%q is not an instance key", text)
	}
	return err
}

// MarshalText returns the result of String. It returns an error if a key in the address is hidden.
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

// UnmarshalText parses the address of an object, with or without a deposed key. Any other text is an error.
func (o *Object) UnmarshalText(text []byte) (err error) {
	s, deposed := string(text), ""
	if inner, ok := strings.CutSuffix(s, ")"); ok { // no address of an instance ends with a parenthesis, so a deposed key follows
		s, deposed, _ = strings.Cut(inner, " (deposed object ")
		if strings.Contains(deposed, " ") || deposed == "" {
			return fmt.Errorf("%q is not the address of an object", text)
		}
	}
	o.Deposed = deposed
	o.Instance, err = ParseInstance(s)
	return err
}

// MarshalText returns the address of the instance. It returns an error if a key in the address is hidden.
func (i Instance) MarshalText() ([]byte, error) { return i.Current().MarshalText() }

// UnmarshalText parses the address of an instance. Any other text is an error.
func (i *Instance) UnmarshalText(text []byte) (err error) {
	*i, err = ParseInstance(string(text))
	return err
}

// MarshalText returns the address of the resource. It returns an error if a key in the address is hidden.
func (r AbsResource) MarshalText() ([]byte, error) { return r.Instance(NoKey).MarshalText() }

// UnmarshalText parses the address of a resource. Any other text is an error, also an address with an instance key at
// its end.
func (r *AbsResource) UnmarshalText(text []byte) (err error) {
	*r, err = ParseResource(string(text))
	return err
}

// MarshalText returns the address of the declaration, without keys.
func (r Resource) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText parses the address of a resource, and ignores keys of modules. Any other text is an error.
func (r *Resource) UnmarshalText(text []byte) error {
	i, err := ParseResource(string(text))
	*r = i.Resource()
	return err
}

// MarshalText returns "host/namespace/type".
func (p Provider) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText parses a source address with one to three parts: "type", "namespace/type" or "host/namespace/type". Any
// other text is an error.
func (p *Provider) UnmarshalText(text []byte) (err error) {
	*p, err = ParseProvider(string(text))
	return err
}

// MarshalText returns the address as in state files, and "" for the zero value. It returns an error for a hidden key.
func (i ProviderInstance) MarshalText() ([]byte, error) {
	switch {
	case i.Key.hidden:
		return nil, errHidden
	case i == ProviderInstance{}:
		return nil, nil
	}
	return []byte(i.String()), nil
}

// UnmarshalText parses an address as in state files, or "" as the zero value. Any other text is an error.
func (i *ProviderInstance) UnmarshalText(text []byte) (err error) {
	*i = ProviderInstance{}
	if len(text) > 0 {
		*i, err = ParseProviderInstance(string(text))
	}
	return err
}

// MarshalText returns the address as a user writes it, without missing keys.
func (t Target) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText parses the address of a module, a resource or an instance. Any other text is an error.
func (t *Target) UnmarshalText(text []byte) (err error) {
	*t, err = ParseTarget(string(text))
	return err
}
