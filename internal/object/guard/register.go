package guard

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/zclconf/go-cty/cty"
)

// WriteOnly takes the configuration of an object, and registers the sensitive and ephemeral values in its write-only
// arguments as secrets, which answers must not contain and outputs mask. Unmarked parts of an argument may be public,
// such as the host beside a password.
func (g *Guard) WriteOnly(s *schema.Schema, of addr.Instance, config mark.Value) {
	if g.Secrets == nil || len(config.Marks) == 0 || !s.HasWriteOnly() {
		return
	}
	marked := mark.NewPlaces(config.Marks)
	for _, p := range s.WriteOnly(config.Raw) {
		v, err := p.Apply(config.Raw)
		if err != nil {
			continue // the path leads into a set, and elements of sets have no write-only attributes
		}
		origin := secret.Origin{Addr: of.String(), Kind: secret.WriteOnly}
		secret.Leaves(v, func(below cty.Path, leaf cty.Value, _ string) {
			at := slices.Concat(p, below)
			ephemeral := marked.Touch(at, mark.Ephemeral)
			if ephemeral || marked.Touch(at, mark.Sensitive) {
				origin.Path, origin.Sensitive = mark.PathBelow(at), !ephemeral
				g.Secrets.AddValue(leaf, origin)
			}
		})
		origin.Path = mark.PathBelow(p)
		for _, m := range config.Marks {
			if m.Path.HasPrefix(p) || p.HasPrefix(m.Path) {
				origin.Sensitive = m.Tag == mark.Sensitive
				g.addPieces(config.Raw, m, true, origin)
			}
		}
	}
}

// Given registers the ephemeral and sensitive values in the arguments of a provider, a provider function, an ephemeral
// resource or a provisioner. The set of secrets may lack them, for example if they are parts of a larger secret
// document.
//
//   - An ephemeral value is refused in answers if the schema calls the argument sensitive.
//   - Other ephemeral values may be a region or a port, which objects store: they are only masked.
//   - A sensitive value may be stored and shown by objects: it is masked in messages and logs.
//
// If s is nil, no argument counts as sensitive.
func (g *Guard) Given(args mark.Value, s *schema.Schema, to string) {
	if g.Secrets == nil || len(args.Marks) == 0 {
		return
	}
	var sensitive []mark.At
	if s != nil {
		sensitive = mark.SensitiveAt(s.SensitivePaths(args.Raw))
	}
	marked, hidden := mark.NewPlaces(args.Marks), mark.NewPlaces(sensitive)
	for _, m := range args.Marks {
		origin := secret.Origin{Addr: to, Path: mark.PathBelow(m.Path), Kind: secret.Setting, Sensitive: m.Tag == mark.Sensitive}
		if m.Tag == mark.Ephemeral {
			g.addPieces(args.Raw, m, hidden.Touch(m.Path, mark.Sensitive), origin)
		} else {
			m.Pieces.Each(func(piece string) { g.Secrets.MaskInMessages(cty.StringVal(piece), origin) })
		}
	}
	secret.Leaves(args.Raw, func(p cty.Path, leaf cty.Value, _ string) {
		origin := secret.Origin{Addr: to, Path: mark.PathBelow(p), Kind: secret.Setting}
		switch {
		case marked.Touch(p, mark.Ephemeral) && hidden.Touch(p, mark.Sensitive):
			g.Secrets.AddValue(leaf, origin)
		case marked.Touch(p, mark.Ephemeral):
			g.Secrets.MaskUnlessPlain(leaf, origin)
		case marked.Touch(p, mark.Sensitive):
			origin.Sensitive = true
			g.Secrets.MaskInMessages(leaf, origin)
		}
	})
}

// addResult registers the values that the provider computed for an ephemeral resource as secrets. Configured values are
// registered elsewhere if they are secret. Other values that are not sensitive in the schema are treated as follows:
//
//   - A common text, such as a time (see isCommon), is not secret.
//   - If another attribute of the schema is sensitive, the value is metadata, such as the version of a secret in AWS
//     Secrets Manager. A data source that reads the same secret returns the same metadata, so objects may store it. It is
//     masked in messages and logs.
//   - If no attribute of the schema is sensitive, the schema does not distinguish secrets, and the value is secret.
func (g *Guard) addResult(of Subject, v, config cty.Value) {
	origin, given := resultOf(of), textsOf(config)
	sensitive := mark.NewPlaces(mark.SensitiveAt(of.Type.Schema.SensitivePaths(v)))
	secret.Leaves(v, func(p cty.Path, leaf cty.Value, text string) {
		if given[text] || configured(config, p) {
			return // a configured argument, or a computed value with the same text as an argument
		}
		at := origin
		at.Path = mark.PathBelow(p)
		switch {
		case sensitive.Touch(p, mark.Sensitive):
			g.Secrets.AddValue(leaf, at)
		case isCommon(text):
		case of.Type.Schema.HasSensitive():
			g.Secrets.MaskInMessages(leaf, at)
		default:
			g.Secrets.AddValue(leaf, at)
		}
	})
}

// isCommon reports whether other objects may have the same text by chance, or because they describe the same thing:
//
//   - a constant of an API: at most 20 capital letters and underscores, such as the stage AWSCURRENT;
//   - a time: objects that are created in the same second have the same time;
//   - the name of a resource in AWS, Azure or Google Cloud. Messages about permissions need it.
func isCommon(text string) bool {
	return len(text) <= 20 && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "" || isTime(text) || resourceName().MatchString(text)
}

// resourceName matches names of resources in AWS, Azure and Google Cloud.
var resourceName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(arn:[a-z-]+:[a-z0-9-]+:[a-z0-9-]*:\d*:|/subscriptions/[0-9a-f-]{36}/|projects/[a-z][a-z0-9-]+/)[\w+=,.@:/-]+$`)
})

// isTime reports whether a text is a time in a usual form.
func isTime(text string) bool {
	if len(text) < len(time.DateOnly) || len(text) > 40 {
		return false
	}
	for _, form := range []string{time.RFC3339Nano, time.DateTime, time.DateOnly, "2006-01-02T15:04:05", "2006-01-02 15:04:05.999999999 -0700 MST", time.RFC1123, time.RFC1123Z} {
		if _, err := time.Parse(form, text); err == nil {
			return true
		}
	}
	return false
}

// resultOf returns the origin under which the values of the ephemeral resource are registered.
func resultOf(of Subject) secret.Origin {
	return secret.Origin{Addr: of.Object.Instance.String(), Kind: secret.EphemeralResult}
}

func textsOf(v cty.Value) map[string]bool {
	out := map[string]bool{}
	secret.Leaves(v, func(_ cty.Path, _ cty.Value, text string) { out[text] = true })
	return out
}

// addUnreadable registers the strings in the encoded result of an ephemeral resource as secrets, if the result does not
// match its schema, because messages of the provider may contain them. Texts of the configuration and common texts are
// excluded.
func (g *Guard) addUnreadable(of Subject, result []byte, config cty.Value) {
	given := textsOf(config)
	_, _ = eachString(result, 0, func(text string) {
		if !given[text] && !isCommon(text) {
			g.Secrets.Add(text, resultOf(of))
		}
	})
}

// Learn registers the secrets in result, the answer to a call that opened an ephemeral resource with the configuration
// config. Another process made the call. Learn returns false if the configuration or the result cannot be decoded.
func (g *Guard) Learn(of Subject, config, result provider.Dynamic) bool {
	asked, err := decodeAny(config, of.Type.Schema.Type())
	return err == nil && g.learn(of, result, asked)
}

// learn registers the secrets in result, the answer to a call that opened an ephemeral resource with the configuration
// config. It returns false if the result cannot be decoded, and then registers all its strings.
func (g *Guard) learn(of Subject, result provider.Dynamic, config cty.Value) bool {
	if g.Secrets == nil {
		return true
	}
	v, err := decodeAny(result, of.Type.Schema.Type())
	if err != nil {
		g.addUnreadable(of, result.Msgpack, config)
		return false
	}
	g.addResult(of, v, config)
	return true
}
