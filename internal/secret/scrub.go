package secret

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

func (s *Set) any(text string) (any, clear bool) {
	clear = s.peel(text, false, func(*layer, int, *piece) bool {
		any = true
		return false
	})
	return any, clear
}
