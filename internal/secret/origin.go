package secret

import "github.com/lethe-iac/lethe/internal/mark"

const (
	// shortest is the least length in bytes of anything that is guarded.
	shortest = mark.LeastPiece
	// embedded is the least length of a secret that is refused as a part of something longer.
	embedded = 16
)

// Kind is why a string is secret.
type Kind uint8

// The kinds.
const (
	EphemeralVariable Kind = iota + 1 // the value of an ephemeral input variable
	EphemeralResult                   // computed by a provider for an ephemeral resource
	WriteOnly                         // given to a write-only argument
	Setting                           // ephemeral, and given to a provider or for an ephemeral resource
	Unclear                           // none was found, in something that cannot be looked through
)

// Origin is where a secret came from, for the message about it.
type Origin struct {
	Addr string // of the object or variable: "ephemeral.vault_kv.db", "var.password"
	Path string // inside it: `.data["b"]`
	Kind Kind
	// Sensitive: the value is kept from view, but not ephemeral (a write-only argument can be given
	// such a value).
	Sensitive bool
}

// String names the secret, for the message about it.
func (o Origin) String() string {
	if o.Kind == Unclear {
		return "something with so much packed into it that it cannot be searched for secrets"
	}
	return "the secret " + o.Addr + o.Path
}

// mask is what is shown instead.
func (o Origin) mask() string {
	if o.Sensitive {
		return mark.Sensitive.Mask()
	}
	return mark.Ephemeral.Mask()
}

// strict origins are refused as a part of something longer from 8 bytes on.
func (o Origin) strict() bool { return o.Kind == WriteOnly || o.Sensitive }

// secret is one string, in all its forms.
type secret struct {
	text    string
	origin  Origin   // the first
	origins []Origin // those that make a difference
	strict  bool     // one of its origins is
	// owners are the objects that it was given to, if it is merely sensitive: all others may keep it. nil:
	// it is ephemeral.
	owners map[string]bool
}

// also adds an origin, and reports whether that makes a difference.
func (s *secret) also(o Origin) bool {
	had := s.strict && o.strict() || !o.strict()
	had = had && (s.owners == nil || o.Sensitive && s.owners[o.Addr])
	if had {
		return false
	}
	s.origins = append(s.origins, o)
	s.strict = s.strict || o.strict()
	if !o.Sensitive {
		s.owners = nil
	} else if s.owners != nil {
		s.owners[o.Addr] = true
	}
	return true
}
