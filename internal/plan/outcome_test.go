package plan

import "testing"

// The zero Outcome means failed. An instance whose outcome is Await has a placeholder; a deferred instance has no value
// in this walk.
func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		of    Outcome
		text  string
		value bool
	}{
		{Outcome{}, "failed", false},
		{Done(false), "failed", false},
		{Done(true), "known", true},
		{Await(ReadConfigUnknown), "pending (read_because_config_unknown)", true},
		{Defer("absent_prereq"), "deferred (absent_prereq)", false},
	} {
		if c.of.String() != c.text || c.of.HasValue() != c.value {
			t.Errorf("%v has a value: %v, want %s, %v", c.of, c.of.HasValue(), c.text, c.value)
		}
	}
}
