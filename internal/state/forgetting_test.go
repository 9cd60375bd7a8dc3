package state

import (
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
)

func TestForgetting(t *testing.T) {
	for name, want := range map[string][4]bool{
		"none":      {},
		"sensitive": {1: true, 2: true},
		"all":       {true, true, true},
	} {
		f, err := ParseForgetting(name)
		if err != nil {
			t.Fatal(err)
		}
		got := [4]bool{
			f.Forgets(addr.Resource{Mode: addr.Data, Type: "t"}, false),
			f.Forgets(addr.Resource{Mode: addr.Data, Type: "t"}, true),
			f.Forgets(addr.Resource{Mode: addr.Data, Type: "terraform_remote_state"}, false),
			f.Forgets(addr.Resource{Mode: addr.Managed, Type: "t"}, true),
		}
		if got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	for _, name := range []string{"", "ALL", "some"} {
		if _, err := ParseForgetting(name); err == nil {
			t.Errorf("%q is accepted", name)
		}
	}
}
