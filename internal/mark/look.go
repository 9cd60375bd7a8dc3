package mark

import (
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/zclconf/go-cty/cty"
)

// Look adds to c what is in v, marked or not, and reports whether it has been through all of it.
func Look(c *ctyvalue.Contents, v cty.Value) bool {
	if !c.Add(v) {
		look(c, v)
	}
	return c.Within()
}

func look(c *ctyvalue.Contents, v cty.Value) {
	if c.Elements++; !c.Within() {
		return
	}
	if v.IsMarked() {
		c.Marked = true
		v, _ = v.Unmark()
	}
	switch ty := v.Type(); {
	case !v.IsKnown():
		c.Unknown = true
	case v.IsNull() || ty == cty.Bool || ty.IsCapsuleType():
	case ty == cty.String:
		c.Bytes += int64(len(v.AsString()))
	case ty == cty.Number:
		c.Refused = c.Number != nil && !c.Number(ctyvalue.Number(v))
	case ty.IsObjectType() || ty.IsMapType():
		for name, e := range ctyvalue.Members(v) {
			c.Bytes += int64(len(name))
			look(c, e)
		}
	default:
		for e := range ctyvalue.Unordered(v) {
			look(c, e)
		}
	}
}
