package wire

import (
	"errors"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/schema"
)

// A schema whose parts do not go together is refused where it is used: a type alone, but with the
// settings the whole provider.
func TestCheck(t *testing.T) {
	old := check
	defer func() { check = old }()
	c := &client{major: 6, methods: tables[6]}
	for _, refused := range []addr.Mode{0, addr.Managed, addr.Data, addr.Ephemeral} {
		check = func(m addr.Mode, _ *schema.Schema) error {
			if m == refused {
				return errors.New("it is Tuesday")
			}
			return nil
		}
		s, ds := c.decodeSchemas(must(t, some()))
		if refused == 0 {
			if s != nil || !ds.HasErrors() || !strings.Contains(ds[1].Detail, "it is Tuesday") {
				t.Errorf("%v, %v", s, ds)
			}
			continue
		}
		for mode, name := range map[addr.Mode]string{addr.Managed: "r", addr.Data: "d", addr.Ephemeral: "e"} {
			ty, err := s.Type(mode, name)
			if (err != nil) != (mode == refused) || (ty == nil) != (mode == refused) {
				t.Errorf("%s, refusing %s: %v, %v", mode, refused, ty, err)
			}
		}
	}
}
