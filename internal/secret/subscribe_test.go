package secret

import "testing"

// TestSubscribe checks that a set that is filled by Subscribe finds the same secrets, regardless of when Subscribe was
// called.
func TestSubscribe(t *testing.T) {
	var from, to Set
	from.Add("ephemeral-before", Origin{Addr: "var.a", Kind: EphemeralVariable})
	from.Add("sensitive-to-two", Origin{Addr: "a.x", Kind: WriteOnly, Sensitive: true})
	from.Add("sensitive-to-two", Origin{Addr: "a.y", Kind: WriteOnly, Sensitive: true})
	count := 0
	from.Subscribe(func(text string, o Origin) {
		count++
		to.Add(text, o)
	})
	from.Add("ephemeral-after", Origin{Addr: "var.b", Kind: EphemeralVariable})
	from.Add("becomes-ephemeral", Origin{Addr: "a.x", Kind: WriteOnly, Sensitive: true})
	from.Add("becomes-ephemeral", Origin{Addr: "var.c", Kind: EphemeralVariable})
	from.Add("becomes-ephemeral", Origin{Addr: "var.c", Kind: EphemeralVariable})
	if count != 6 {
		t.Errorf("told %d times", count)
	}
	for _, text := range []string{"ephemeral-before", "sensitive-to-two", "ephemeral-after", "becomes-ephemeral", "nothing of that"} {
		for _, owner := range []string{"a.x", "a.y", "a.z"} {
			_, want := from.Check(text, owner, nil)
			if _, got := to.Check(text, owner, nil); got != want {
				t.Errorf("%s in %s: %v, want %v", text, owner, got, want)
			}
		}
	}
}
