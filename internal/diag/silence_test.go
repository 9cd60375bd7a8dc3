package diag

import "testing"

func TestSilence(t *testing.T) {
	var s Silence
	if err := s.Add("LE0604, le0218", "LE0309"); err != nil {
		t.Fatal(err)
	}
	if err := s.Add("LE9999"); err == nil {
		t.Error("an unknown code was accepted")
	}
	if err := s.Add(""); err == nil {
		t.Error("an empty code was accepted")
	}
	warning := Warningf("Value for undeclared variable", "a")
	all := []Diagnostic{warning, Errorf(warning.Summary, "a"), warning, Warningf("Something of a provider", "b")}
	if got := s.Filter(all); len(got) != 2 || got[0].Severity != Error {
		t.Errorf("Filter kept %v", got)
	}
	foreign := warning
	foreign.Foreign = true
	if s.Hides(foreign) {
		t.Error("a warning of a provider has no code, and was hidden")
	}
	if got := Silenced(s.Take()); got != "1 warning was silenced: LE0604 (1)." {
		t.Errorf("got %q", got)
	}
	if got := Silenced(s.Take()); got != "" {
		t.Errorf("taken twice: %q", got)
	}
	if (*Silence)(nil).Hides(warning) || len((*Silence)(nil).Filter(all)) != 4 {
		t.Error("a nil Silence hides")
	}
}
