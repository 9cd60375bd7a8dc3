package secret

import "github.com/lethe-iac/lethe/internal/mark"

const (
	// shortest is the length, in bytes, of the shortest text that can be a secret.
	shortest = mark.LeastPiece
	// embedded is the length, in bytes, of the shortest secret that must not be stored as a part of a longer text.
	embedded = 16
)

// Kind is the reason why a string is secret.
type Kind uint8

// The kinds.
const (
	EphemeralVariable Kind = iota + 1 // the value of an ephemeral input variable
	EphemeralResult                   // computed by a provider for an ephemeral resource
	WriteOnly                         // passed to a write-only argument
	Setting                           // ephemeral, and passed to a provider's configuration or to an ephemeral resource
	Unclear                           // no secret was found, but the text was too large to search
)

// Origin is the source of a secret, for messages.
type Origin struct {
	Addr string // the address of the object or variable, such as "ephemeral.vault_kv.db" or "var.password"
	Path string // path inside the object: `.data["b"]`
	Kind Kind
	// Sensitive is true if the value is sensitive but not ephemeral. Write-only arguments accept such values.
	Sensitive bool
}

// String describes the secret for messages.
func (o Origin) String() string {
	if o.Kind == Unclear {
		return "something with so much packed into it that it cannot be searched for secrets"
	}
	return "the secret " + o.Addr + o.Path
}

// mask returns the text that replaces the secret in masked texts.
func (o Origin) mask() string {
	if o.Sensitive {
		return mark.Sensitive.Mask()
	}
	return mark.Ephemeral.Mask()
}

// strict reports whether the secret must not be stored as a part of a longer text even if it has fewer than 16 bytes.
func (o Origin) strict() bool { return o.Kind == WriteOnly || o.Sensitive }

// secret is one secret string.
type secret struct {
	text    string
	origin  Origin   // the first origin
	origins []Origin // the origins for which a rule of the secret became stricter
	strict  bool     // an origin is strict (see Origin.strict)
	shown   bool     // the secret is masked only in messages and logs, because objects may show it
	// owners has the addresses of the objects that received the secret, if all origins are sensitive and not ephemeral.
	// Other objects may then store the secret. owners is nil if an origin is ephemeral.
	owners map[string]bool
}

// also adds an origin if the origin makes a rule for the secret stricter, and reports whether it added the origin.
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
