package diag

import "testing"

// TestSharedFailure checks that a shared failure is an error if one user is not a check block, in any order, and else a
// warning.
func TestSharedFailure(t *testing.T) {
	shared := Shared{Errorf("Refused", "why")}
	check := func(b *Bag) {
		b.Lenient(func(own *Bag) {
			shared.Replay(own)
			own.Blame("check.c")
		})
	}
	object := func(b *Bag) { shared.Replay(b) }
	for name, c := range map[string]struct {
		parts []func(*Bag)
		want  Severity
	}{
		"the check first":  {[]func(*Bag){check, object, object}, Error},
		"the object first": {[]func(*Bag){object, check}, Error},
		"two checks":       {[]func(*Bag){check, check}, Warning},
	} {
		t.Run(name, func(t *testing.T) {
			var b Bag
			for _, part := range c.parts {
				part(&b)
			}
			list := b.List()
			if len(list) != 1 || list[0].Severity != c.want || b.HasErrors() != (c.want == Error) {
				t.Errorf("%v", list)
			}
			if !b.Reported(shared[0]) || !shared.Has(list[0]) || b.Reported(Errorf("Refused", "another reason")) {
				t.Error("the message is not found again")
			}
		})
	}
}
