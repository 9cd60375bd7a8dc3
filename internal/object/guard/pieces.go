package guard

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/zclconf/go-cty/cty"
)

// addPieces registers the pieces of the texts in v at the path of the mark m. A piece is a part of a text that comes
// from a secret, such as the password in a connection string that a template builds. full is true if the schema calls
// the texts write-only or sensitive. Then answers must not contain the pieces. Otherwise the texts may be endpoints and
// ARNs, so outputs only mask their pieces. Exceptions: answers must never contain the password of a URL. They may
// always contain a host, a user or the name of a database, because objects show these.
func (g *Guard) addPieces(v cty.Value, m mark.At, full bool, origin secret.Origin) {
	if m.Pieces == nil {
		return
	}
	var pieces, texts []string
	m.Pieces.Each(func(piece string) { pieces = append(pieces, piece) })
	if at, err := m.Path.Apply(v); err == nil {
		secret.Leaves(at, func(_ cty.Path, _ cty.Value, text string) { texts = append(texts, text) })
	}
	for _, piece := range pieces {
		names, password := roles(texts, piece, pieces)
		if password || full && !names {
			g.Secrets.Add(piece, origin)
		} else {
			g.Secrets.MaskUnlessPlain(cty.StringVal(piece), origin)
		}
	}
}

// roles reports whether a piece occurs in texts only as the host, user or database of a connection string (names), and
// whether it is the password of a URL at least once (password).
func roles(texts []string, piece string, pieces []string) (names, password bool) {
	others := false
	for _, text := range texts {
		for at := 0; ; at += len(piece) {
			next := strings.Index(text[at:], piece)
			if next < 0 {
				break
			}
			at += next
			before, after := text[:at], text[at+len(piece):]
			switch {
			case passwordBetween(before, after):
				password = true
			case nameBetween(before, after, pieces):
				names = true
			default:
				others = true
			}
		}
	}
	return names && !others && !password, password
}

// passwordBetween reports whether a text is the password of a URL. before and after are the parts of the URL around the
// text.
func passwordBetween(before, after string) bool {
	_, authority, ok := cutLast(before, "://")
	return ok && !strings.ContainsAny(authority, "/?#@") && strings.Contains(authority, ":") && strings.Contains(after, "@")
}

// nameBetween reports whether a text is a host, a user or a database in a connection string. before and after are the
// parts of the connection string around the text. The user of a URL counts only if the password beside the user is one
// of pieces. Otherwise the user may be a token.
func nameBetween(before, after string, pieces []string) bool {
	scheme, authority, ok := cutLast(before, "://")
	if !ok {
		return keyBefore().MatchString(before[max(0, len(before)-longestKey):])
	}
	if path := strings.IndexAny(authority, "/?#"); path >= 0 {
		return databases().MatchString(scheme) && authority[path:] == "/" && (after == "" || after[0] == '?' || after[0] == '#')
	}
	if user, _, ok := strings.Cut(after, "@"); ok && authority == "" && strings.HasPrefix(user, ":") && !strings.ContainsAny(user, "/?#") {
		return slices.ContainsFunc(pieces, func(p string) bool { return strings.Contains(user, p) })
	}
	if _, host, ok := cutLast(authority, "@"); ok {
		authority = host
	}
	host := after
	if end := strings.IndexAny(after, ":/?#"); end >= 0 {
		host = after[:end]
	}
	return onlyHost(authority) && onlyHost(host) && !strings.Contains(after, "@")
}

var (
	// databases matches the schemes of URLs whose path is the name of a database.
	databases = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(sql|postgres|pg|mongodb(\+srv)?|mariadb|redis|oracle|amqps?)$`)
	})
	// keyBefore matches the text before a host, user or database in a connection string of keys and values, such as
	// `host=`.
	keyBefore = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(^|[;\s])(host|server|data source|user|username|user id|uid|port|database|dbname|initial catalog)\s*=\s*['"]?$`)
	})
)

// longestKey is the number of bytes, directly before a host, user or database, in which keyBefore is searched.
const longestKey = 100

// onlyHost reports whether a text has only characters of host names: letters of ASCII, digits, hyphens and dots.
func onlyHost(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool {
		return c != '-' && c != '.' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	})
}

// cutLast cuts a text at the last separator. Without a separator, it returns s, "" and false.
func cutLast(s, sep string) (before, after string, ok bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
