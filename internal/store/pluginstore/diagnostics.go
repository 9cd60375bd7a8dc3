package pluginstore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
)

// messages is an error with the text of all error diagnostics of one call of the provider.
type messages struct {
	text    string
	refused bool // the provider answered with an error; false if the call got no answer, so that its effect is unknown
}

func (m *messages) Error() string { return m.text }

// outcome returns the errors among the diagnostics of a call as one error, or nil without an error. It passes each
// warning to the user once. doing is the purpose of the call, for the text.
func (s *pluginStore) outcome(doing string, ds []diag.Diagnostic) error {
	m := &messages{}
	for _, d := range ds {
		if d.Severity == diag.Warning {
			s.warn(d)
			continue
		}
		m.text += "\n" + sentence(d.Summary, d.Detail)
		m.refused = d.Foreign
	}
	if m.text == "" {
		return nil
	}
	m.text = fmt.Sprintf("%s did not %s:%s", s.name(), doing, strings.TrimSuffix(m.text, "."))
	return m
}

// sentence joins the summary and the detail of a diagnostic.
func sentence(summary, detail string) string {
	if detail = strings.TrimSpace(detail); detail == "" {
		return summary
	}
	return summary + ": " + detail
}

// refused reports whether err is an answer of the provider, not the failure of a call.
func refused(err error) bool {
	var m *messages
	return errors.As(err, &m) && m.refused
}

// breach returns the error for an answer that violates the protocol.
func (s *pluginStore) breach(format string, a ...any) error {
	return fmt.Errorf("%s does not follow the protocol: %s. This is a bug in the provider", s.name(), fmt.Sprintf(format, a...))
}

// name returns the name of the store for messages.
func (s *pluginStore) name() string {
	return fmt.Sprintf("the state store %s of the %s", s.o.Type, s.o.Provider)
}

// warn passes a warning of the provider to the user, unless the same warning was reported before.
func (s *pluginStore) warn(d diag.Diagnostic) {
	text := sentence(d.Summary, d.Detail)
	s.mu.Lock()
	reported := s.warned[text]
	s.warned[text] = true
	s.mu.Unlock()
	if d.Path = nil; s.o.Warn != nil && !reported {
		s.o.Warn(d)
	}
}
