// Package secret holds the secret strings of a run and searches every output for them (invariant I11 of the
// architecture).
//
// Marks identify secrets as long as they are cty values. After a provider, a shell or a library has converted a value
// to text, only the text can be searched. So a Set holds secret strings: the values of ephemeral variables, the
// computed values of ephemeral resources, the ephemeral or sensitive values of write-only arguments, and strings that
// are only masked. A search finds the string itself and its encoded forms: JSON, URLs, base64, archives, and
// combinations of these (see layers.go).
//
// A Set has one matcher and two actions:
//
//   - Free text (screens, logs, messages) is masked: Scrub replaces a secret with "(ephemeral value)" or "(sensitive
//     value)".
//   - Text that is to be stored (a leaf of a state or plan, private data of a provider) is refused: Check returns the
//     origin of a secret in it, and the caller stores null instead.
//
// The Set masks generously and refuses cautiously: Scrub masks all strings except the strings that only MaskInMessages
// has registered, but Check refuses only secrets that are too long to occur by chance. Check also ignores a string that
// is public, for example in the text of the configuration. Callers check only values in answers of providers that do
// not come from the configuration.
//
// Strings shorter than 8 bytes are ignored, because they cannot be distinguished from other text. The zero Set is
// empty, and its searches return at once. The methods of a Set may be called concurrently.
package secret

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// Add registers a string as a secret. If the string is registered already, Add only adds rules that are stricter (such
// as: refuse the secret as a part of a longer text). It ignores a string shorter than 8 bytes.
func (s *Set) Add(text string, origin Origin) {
	if len(text) < shortest {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.known[text]; old != nil {
		if old.also(origin) {
			s.rules.Add(1)
			if s.subscriber != nil {
				s.subscriber(text, origin)
			}
		}
		return
	}
	if s.known == nil {
		s.known = map[string]*secret{}
	}
	// Copy the string, because it may be a substring of a much larger string, which would stay in memory.
	text = strings.Clone(text)
	sec := &secret{text: text, origin: origin, owners: map[string]bool{}}
	sec.also(origin)
	s.known[text] = sec
	for _, form := range forms(text) {
		s.table.add(form, sec, true)
	}
	for _, line := range lines(text) {
		s.table.add(line, sec, false)
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		s.number.Store(true)
	}
	s.begin()
	s.rules.Add(1)
	if s.subscriber != nil {
		s.subscriber(text, origin)
	}
}

// First registers f, which is called once the Set has a secret: at the first registration, or now if the Set has one. A
// later call of First replaces f. f must not use the Set.
func (s *Set) First(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first = f; s.some.Load() {
		f()
	}
}

// begin records that the Set has a secret. The caller must hold s.mu.
func (s *Set) begin() {
	if !s.some.Swap(true) && s.first != nil {
		s.first()
	}
}

// Subscribe calls f for each registered string and each of its origins, now and whenever a string is registered. If f
// adds the strings to another Set, that Set finds the same secrets. A later call of Subscribe replaces f. Strings that
// are only masked (MaskValue and similar methods) are not passed to f. f must not use the Set.
func (s *Set) Subscribe(f func(text string, origin Origin)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscriber = f
	for text, sec := range s.known {
		for _, o := range sec.origins {
			f(text, o)
		}
	}
}

// AddValue registers every string in v with at least 8 bytes, and every number with at least 8 digits, as a secret. It
// appends the path in v to the path of the origin. It ignores marks, and null and unknown values.
func (s *Set) AddValue(v cty.Value, origin Origin) {
	Leaves(v, func(path cty.Path, leaf cty.Value, text string) {
		if !longEnough(leaf, text) {
			return
		}
		at := origin
		at.Path += mark.PathBelow(path)
		s.Add(text, at)
	})
}

// MaskValue registers every string in v with at least 8 bytes, and every number with at least 8 digits, for masking
// only: the values may be stored, but not shown. It ignores strings that are registered as secrets already.
func (s *Set) MaskValue(v cty.Value, origin Origin) { s.mask(v, origin, false) }

// MaskUnlessPlain registers the strings in v for masking only, as MaskValue does, but ignores strings that are public
// (see Elsewhere).
func (s *Set) MaskUnlessPlain(v cty.Value, origin Origin) { s.maskUnlessPlain(v, origin, false) }

// MaskInMessages registers the strings in v that are not public for masking by ScrubMessage only: Scrub does not mask
// them, because objects may store and show them.
func (s *Set) MaskInMessages(v cty.Value, origin Origin) { s.maskUnlessPlain(v, origin, true) }

func (s *Set) maskUnlessPlain(v cty.Value, origin Origin, shown bool) {
	Leaves(v, func(_ cty.Path, leaf cty.Value, text string) {
		s.mu.RLock()
		m := s.masked[text]
		skip := len(text) < shortest || s.known[text] != nil || m != nil && (shown || !m.shown) || s.anyPlain(text)
		s.mu.RUnlock()
		if !skip {
			s.mask(leaf, origin, shown)
		}
	})
}

func (s *Set) mask(v cty.Value, origin Origin, shown bool) {
	Leaves(v, func(_ cty.Path, leaf cty.Value, text string) {
		if !longEnough(leaf, text) || len(text) < shortest {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		sec := s.masked[text]
		if s.known[text] != nil || sec != nil && (shown || !sec.shown) {
			return
		}
		if s.masked == nil {
			s.masked = map[string]*secret{}
		}
		if sec == nil {
			text = strings.Clone(text)
			sec = &secret{text: text, origin: origin}
			s.masked[text] = sec
		}
		sec.shown = shown
		for _, form := range append(forms(sec.text), lines(sec.text)...) {
			s.table.add(form, sec, false)
		}
		s.begin()
	})
}

// Learning begins a call (of a provider) that may register secrets. Output during the call may contain these secrets
// before they are registered, so the method Then delays the output. The caller calls the returned function at the end
// of the call. Its argument is true if the secrets were registered.
func (s *Set) Learning() (learned func(learned bool)) {
	if s == nil {
		return func(bool) {}
	}
	s.learning.Lock()
	defer s.learning.Unlock()
	s.calls++
	return func(learned bool) {
		s.learning.Lock()
		defer s.learning.Unlock()
		s.missed = s.missed || !learned
		if s.calls--; s.calls > 0 {
			return
		}
		for _, f := range s.held {
			f(!s.missed)
		}
		s.held, s.missed = nil, false
	}
}

// Then calls f as soon as no call of Learning is in progress: now, with known true, or later in the order of the calls
// of Then. known is false if a call for which f waited ended without registering its secrets.
func (s *Set) Then(f func(known bool)) {
	s.learning.Lock()
	defer s.learning.Unlock()
	if s.calls > 0 {
		s.held = append(s.held, f)
		return
	}
	f(true)
}

// Elsewhere sets the function that reports whether a string is public, because it is in the text of the configuration
// or in a plain variable. Check calls f for the secrets that it finds and for the strings that contain them. f must be
// safe for concurrent use and must not use the Set.
func (s *Set) Elsewhere(f func(text string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.elsewhere = f
}

// anyPlain reports whether one of the strings is public (see Elsewhere).
func (s *Set) anyPlain(texts ...string) bool {
	return s.elsewhere != nil && slices.ContainsFunc(texts, s.elsewhere)
}

// Check searches a string that is to be stored, and returns the origin of the first secret that must not be stored. A
// secret counts if
//
//   - it is the whole string, and has at least 8 bytes; or
//   - it is a part of the string, and has at least 16 bytes, or 8 bytes if it was passed to a write-only argument or is
//     sensitive.
//
// A secret does not count if the secret or the string is public (see Elsewhere), or if allowed returns true for the
// secret. allowed may be nil. A secret that is sensitive but not ephemeral counts only for the objects that received
// it. owner is the address of the object.
func (s *Set) Check(leaf, owner string, allowed func(secret string) bool) (Origin, bool) {
	if s.Empty() || len(leaf) < shortest {
		return Origin{}, false
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	from, hit := s.check(leaf, owner, allowed)
	if hit {
		s.found.Store(true)
	}
	return from, hit
}

// Found reports whether Check has found a secret that must not be stored. If so, other results of this run may contain
// the secret, too, and callers must not store them.
func (s *Set) Found() bool { return s != nil && s.found.Load() }

// Holds reports whether a text contains a secret, in any encoded form. A secret shorter than 8 bytes is found only
// verbatim. Holds also returns true if the text exceeds the limit of the search.
func Holds(text, secret string) bool {
	if strings.Contains(text, secret) {
		return true
	}
	var s Set
	s.Add(secret, Origin{})
	return s.Has(text)
}

func (s *Set) check(text, owner string, allowed func(string) bool) (from Origin, hit bool) {
	clear := s.decodeLayer(text, false, func(l *layer, i int, p *piece) bool {
		f := p.form
		end := i + len(f.text)
		if !f.whole || p.at != 0 || f.of.owners != nil && !f.of.owners[owner] || end > len(l.text) || l.text[i:end] != f.text {
			return true
		}
		alone := l.whole && len(f.text) == len(l.text) || i > 0 && end < len(l.text) && l.text[i-1] == '"' && l.text[end] == '"'
		if (alone || len(f.of.text) >= embedded || f.of.strict) && !s.anyPlain(f.of.text, text) && !(allowed != nil && allowed(f.of.text)) {
			from, hit = f.of.origin, true
		}
		return !hit
	})
	if !clear && !hit {
		return Origin{Kind: Unclear}, true
	}
	return from, hit
}

// Within calls found for each registered string that a text contains, in any encoded form, once for each place. It
// returns false if the text exceeds the limit of the search: parts of it were not searched then. found must not use the
// Set.
func (s *Set) Within(text string, found func(secret string)) (clear bool) {
	if s.Empty() || len(text) < shortest {
		return true
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.decode(text, search{wholes: true}, func(l *layer, i int, p *piece) bool {
		f := p.form
		if end := i + len(f.text); f.whole && p.at == 0 && end <= len(l.text) && l.text[i:end] == f.text {
			found(f.of.text)
		}
		return true
	})
}

// Leaves calls visit for every string and number in v. text is the form in which the leaf (the string or number) is
// shown and stored. visit must not keep the path.
func Leaves(v cty.Value, visit func(path cty.Path, leaf cty.Value, text string)) {
	leaves(make(cty.Path, 0, 8), v, visit)
}

func leaves(path cty.Path, v cty.Value, visit func(path cty.Path, leaf cty.Value, text string)) {
	if v.IsMarked() {
		v, _ = mark.Unmark(v)
	}
	switch ty := v.Type(); {
	case v.IsNull() || !v.IsKnown() || ty.IsCapsuleType():
	case ty.IsPrimitiveType():
		if text, ok := ctyvalue.Text(v); ok {
			visit(path, v, text)
		}
	case ty.IsObjectType():
		for name, e := range ctyvalue.Members(v) {
			leaves(append(path, cty.GetAttrStep{Name: name}), e, visit)
		}
	case ty.IsMapType():
		for key, e := range ctyvalue.Members(v) {
			leaves(append(path, cty.IndexStep{Key: cty.StringVal(key)}), e, visit)
		}
	case ty.IsSetType():
		for _, e := range ctyvalue.Items(v) {
			leaves(append(path, cty.IndexStep{Key: e}), e, visit)
		}
	default:
		for i, e := range ctyvalue.Items(v) {
			leaves(append(path, cty.IndexStep{Key: cty.NumberIntVal(int64(i))}), e, visit)
		}
	}
}

// longEnough returns false for a number with fewer than 8 digits, and true for all other values. text is the text of
// leaf.
func longEnough(leaf cty.Value, text string) bool {
	if leaf.Type() != cty.Number {
		return true
	}
	digits := 0
	for _, c := range []byte(text) {
		if c >= '0' && c <= '9' {
			digits++
		}
	}
	return digits >= shortest
}

// Scrub masks every secret in a text, in any encoded form (see layers). It does not mask the strings that only
// MaskInMessages has registered.
func (s *Set) Scrub(text string) string { return s.scrub(text, false, secretMask) }

// Replace masks every secret in a text, in any encoded form, by mask(secret). If secrets overlap, it masks them
// together with one mask. This is the mask of the secret that begins first, and of the longest if several begin there.
// mask must not use the Set.
func (s *Set) Replace(text string, mask func(secret string) string) string {
	return s.scrub(text, false, func(of *secret) string { return mask(of.text) })
}

// ScrubMessage masks every secret in a message or in a line of a log, and also the strings that MaskInMessages has
// registered.
func (s *Set) ScrubMessage(text string) string { return s.scrub(text, true, secretMask) }

func secretMask(of *secret) string { return of.origin.mask() }

func (s *Set) scrub(text string, message bool, mask func(*secret) string) string {
	if s.Empty() || len(text) < shortest {
		return text
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	// Few texts contain a secret, so only a second search determines the places of the secrets.
	if any, clear := s.any(text); !any && clear {
		return text
	}
	var spans []span
	clear := s.decodeLayer(text, true, func(l *layer, i int, p *piece) bool {
		if message || !p.form.of.shown {
			spans = append(spans, span{l.from(i), l.to(i + len(p.text) - 1), p.form.of})
		}
		return true
	})
	if !clear {
		return unclear
	}
	var out []byte
	done := 0
	for _, sp := range joined(spans) {
		out = append(append(out, text[done:sp.from]...), mask(sp.of)...)
		done = sp.to
	}
	return string(append(out, text[done:]...))
}

// unclear is the text that Scrub returns instead of a text that exceeds the limit of the search.
const unclear = "(a text with so much packed into it that it cannot be searched for secrets)"

// Has reports whether a text contains a string that must be masked, or exceeds the limit of the search.
func (s *Set) Has(text string) bool {
	if s.Empty() || len(text) < shortest {
		return false
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	any, clear := s.any(text)
	return any || !clear
}

// MayRefuse reports whether Check may find a secret in a part of b, such as a string of a JSON document. It decodes one
// layer (encoded text in a text) more than Check. b must not change during the call, because MayRefuse does not copy b.
func (s *Set) MayRefuse(b []byte) bool {
	if s.Empty() || len(b) < shortest {
		return false
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	found := false
	clear := s.decode(ctyvalue.TextOf(b), search{depth: -1}, func(_ *layer, _ int, p *piece) bool {
		found = p.form.whole && p.at == 0
		return !found
	})
	return found || !clear
}

func (s *Set) any(text string) (any, clear bool) {
	clear = s.decodeLayer(text, false, func(*layer, int, *piece) bool {
		any = true
		return false
	})
	return any, clear
}
