// Package secret knows this run's secret strings and guards every exit (invariant I11).
//
// Marks say what is secret while values are values. Once a provider, a shell or a library has made
// text of them, only the text itself can tell. So every string that must not get out is registered
// in one Set: the values of ephemeral variables, what providers computed for ephemeral resources,
// and write-only arguments whose value is ephemeral or sensitive. It is looked for as it is, and in what
// text is packed into on its way: JSON, URLs, base64, archives, one inside the other (see layers).
//
// The guard has one matcher and two actions. Free text (screens, logs, messages) is masked: Scrub
// puts "(ephemeral value)" in place of a secret. What is to be stored (a leaf of a state or plan, private data of a provider) is refused: Check names the
// secret that is in it, and the caller stores null instead. Masking is done freely, refusing with
// care: only what a provider answered beyond the configuration is checked, only for secrets that
// are long enough to be there by no chance, and never for a string that is also known from plain
// places.
//
// Strings shorter than 8 bytes are no secrets that a guard could find, and are ignored. The zero
// Set is empty and costs nothing; a Set may be used concurrently.
package secret

import (
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// Add registers a string. Adding it again changes nothing but that the stricter rule holds.
func (s *Set) Add(text string, origin Origin) {
	if len(text) < shortest {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.known[text]; old != nil {
		if old.also(origin) && s.told != nil {
			s.told(text, origin)
		}
		return
	}
	if s.known == nil {
		s.known = map[string]*secret{}
	}
	// The caller's string may be cut out of a much larger one.
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
	if s.told != nil {
		s.told(text, origin)
	}
}

// First has f called when the first string is registered. f must not use the Set.
func (s *Set) First(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first = f; s.some.Load() {
		f()
	}
}

// begin notes that there is a secret. The caller holds the lock.
func (s *Set) begin() {
	if !s.some.Swap(true) && s.first != nil {
		s.first()
	}
}

// Tell has f hear of every string that is registered, now and later, and where it came from: a set elsewhere that adds
// them finds the same. What is only masked is not told. f must not use the Set.
func (s *Set) Tell(f func(text string, origin Origin)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = f
	for text, sec := range s.known {
		for _, o := range sec.origins {
			f(text, o)
		}
	}
}

// AddValue registers every string in v, and every number of 8 digits and more. Marks on v do not
// matter; what is unknown cannot be registered.
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

// MaskValue registers every string in v, and every number of 8 digits and more, to be masked only:
// what is kept by right, though not shown.
func (s *Set) MaskValue(v cty.Value, origin Origin) {
	Leaves(v, func(_ cty.Path, leaf cty.Value, text string) {
		if !longEnough(leaf, text) || len(text) < shortest {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.known[text] != nil || s.masked[text] {
			return
		}
		if s.masked == nil {
			s.masked = map[string]bool{}
		}
		text = strings.Clone(text)
		s.masked[text] = true
		sec := &secret{text: text, origin: origin}
		for _, form := range append(forms(text), lines(text)...) {
			s.table.add(form, sec, false)
		}
		s.begin()
	})
}

// MaskUnlessPlain does so with what is not known from a plain place.
func (s *Set) MaskUnlessPlain(v cty.Value, origin Origin) {
	Leaves(v, func(_ cty.Path, leaf cty.Value, text string) {
		s.mu.RLock()
		skip := len(text) < shortest || s.known[text] != nil || s.anyPlain(text)
		s.mu.RUnlock()
		if !skip {
			s.MaskValue(leaf, origin)
		}
	})
}

// Learning says that a call is under way in which secrets may be learned: what happens meanwhile
// may hold them before they are known. The function that it gives ends this, and says whether they were learned.
func (s *Set) Learning() (over func(learned bool)) {
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

// Then calls f as soon as no call is under way in which secrets may be learned: now, or in the
// order of the calls of Then. known says whether all of them were learned.
func (s *Set) Then(f func(known bool)) {
	s.learning.Lock()
	defer s.learning.Unlock()
	if s.calls > 0 {
		s.held = append(s.held, f)
		return
	}
	f(true)
}

// Elsewhere says how to find out whether a string is known from a plain place (configuration, plain
// variables): f is asked about secrets that Check finds, and the strings it finds them in. It may be called concurrently, and must not use the Set.
func (s *Set) Elsewhere(f func(text string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.elsewhere = f
}

// anyPlain reports whether one of the strings is known from a plain place.
func (s *Set) anyPlain(texts ...string) bool {
	return s.elsewhere != nil && slices.ContainsFunc(texts, s.elsewhere)
}

// Check looks for a secret in a string that is to be stored: one that it is as a whole, from 8
// bytes on, or that is a part of it, from 16 bytes on (from 8 where the secret was given to a
// write-only argument or is sensitive). Nothing is found in a string that is known to be plain,
// nor of a secret that is. Of secrets that are merely sensitive those are found that the owner was given,
// an object by its address. allowed is asked about what is found, and may be nil.
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

// Found reports whether Check has found a secret: what this run has made may hold it, and is not to be
// kept.
func (s *Set) Found() bool { return s != nil && s.found.Load() }

// Holds reports whether a secret stands in a text, however it is written.
func Holds(text, secret string) bool {
	if strings.Contains(text, secret) {
		return true
	}
	var s Set
	s.Add(secret, Origin{})
	return s.Has(text)
}

func (s *Set) check(text, owner string, allowed func(string) bool) (from Origin, hit bool) {
	clear := s.peel(text, false, func(l *layer, i int, p *piece) bool {
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

// Leaves calls visit for every string and number in v, with its text as it is shown and stored.
// Paths are only good during the call.
func Leaves(v cty.Value, visit func(path cty.Path, leaf cty.Value, text string)) {
	v, _ = mark.BareDeep(v)
	_ = cty.Walk(v, func(path cty.Path, v cty.Value) (bool, error) {
		if text, ok := ctyvalue.Text(v); ok {
			visit(path, v, text)
		}
		return v.IsKnown() && !v.IsNull(), nil
	})
}

// longEnough reports whether a leaf says something by itself: a number does with so many digits.
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

// Scrub masks every secret in a text, however it is written (see layers).
func (s *Set) Scrub(text string) string {
	if s.Empty() || len(text) < shortest {
		return text
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	// Few texts have a secret in them, so that it is seldom worth while to know all places.
	if any, clear := s.any(text); !any && clear {
		return text
	}
	var spans []span
	clear := s.peel(text, true, func(l *layer, i int, p *piece) bool {
		spans = append(spans, span{l.from(i), l.to(i + len(p.text) - 1), p.form.of})
		return true
	})
	if !clear {
		return unclear
	}
	var out []byte
	done := 0
	for _, sp := range joined(spans) {
		out = append(append(out, text[done:sp.from]...), sp.of.origin.mask()...)
		done = sp.to
	}
	return string(append(out, text[done:]...))
}

// unclear stands for a text that it would take too much work to look through.
const unclear = "(a text with so much packed into it that it cannot be searched for secrets)"

// Has reports whether a text has anything in it that is to be masked, or may have.
func (s *Set) Has(text string) bool {
	if s.Empty() || len(text) < shortest {
		return false
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	any, clear := s.any(text)
	return any || !clear
}

// HasIn is Has for bytes, which it does not copy: they may be many, and must not change meanwhile.
func (s *Set) HasIn(b []byte) bool { return s.Has(unsafe.String(unsafe.SliceData(b), len(b))) }

func (s *Set) any(text string) (any, clear bool) {
	clear = s.peel(text, false, func(*layer, int, *piece) bool {
		any = true
		return false
	})
	return any, clear
}
