package guard

import (
	"testing"

	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/shortcut"
	"github.com/zclconf/go-cty/cty"
)

// nullIn returns true only if each named attribute is null or missing at the top level of an encoded map. It returns
// false for an encoding that it cannot read completely, such as a damaged one or a name in a longer form than
// necessary.
func TestNullIn(t *testing.T) {
	names := []string{"secret", "token"}
	for name, c := range map[string]struct {
		wire string
		want bool
	}{
		"all null":                         {"\x83\xa2id\xa1x\xa6secret\xc0\xa5token\xc0", true},
		"not there":                        {"\x81\xa2id\xa1x", true},
		"a value":                          {"\x82\xa2id\xa1x\xa6secret\xa6canary", false},
		"an empty value":                   {"\x81\xa6secret\xa0", false},
		"an unknown value":                 {"\x81\xa5token\xd4\x00\x00", false},
		"the value of another attribute":   {"\x81\xa2id\xa6secret", true},
		"null, and then a value":           {"\x82\xa6secret\xc0\xa6secret\xa6canary", false},
		"deeper inside, where none can be": {"\x81\xa1x\x81\xa6secret\xa6canary", true},
		"a name that is no plain string":   {"\x81\xc4\x06secret\xa6canary", false},
		"a name written long":              {"\x81\xd9\x06secret\xa6canary", false},
		"cut off":                          {"\x82\xa2id\xa1x\xa6secret", false},
		"more than there should be":        {"\x81\xa2id\xa1x\xa6secret\xa6canary", false},
		"no map":                           {"\xa6secret", false},
		"nothing":                          {"", false},
		"a long map":                       {"\xde\x00\x01\xa6secret\xa6canary", false},
	} {
		if got := nullIn([]byte(c.wire), names); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// The shortcut that searches an encoded object for write-only values is not used for types with nested write-only
// attributes, and not if it is disabled.
func TestSilent(t *testing.T) {
	secret := &schema.Attr{Name: "secret", Type: cty.String, Optional: true, WriteOnly: true}
	plain := []byte("\x81\xa6secret\xc0")
	for name, c := range map[string]struct {
		block  *schema.Block
		closed shortcut.Set
		want   bool
	}{
		"at the top": {&schema.Block{Attrs: []*schema.Attr{secret}}, 0, true},
		"closed":     {&schema.Block{Attrs: []*schema.Attr{secret}}, shortcut.Wire, false},
		"in a block": {&schema.Block{Attrs: []*schema.Attr{secret}, Blocks: []*schema.Nested{
			{Name: "login", Nesting: schema.List, Block: &schema.Block{Attrs: []*schema.Attr{secret}}}}}, 0, false},
		"in a nested attribute": {&schema.Block{Attrs: []*schema.Attr{
			{Name: "login", Optional: true, Type: cty.Object(map[string]cty.Type{"secret": cty.String}),
				Object: &schema.Object{Nesting: schema.Single, Attrs: []*schema.Attr{secret}}}, secret}}, 0, false},
	} {
		typ, g := &Type{Schema: &schema.Schema{Block: c.block}}, &Guard{Closed: c.closed}
		if got := g.noWriteOnlyIn(typ, plain); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
