package diff

import (
	"testing"

	"github.com/zclconf/go-cty/cty"
)

// If a set has a path and a longer path that begins with it, the method below keeps both: everything inside the first
// path is in the set, and the longer path is still only at its own place.
func TestPathsBelowKeepsLongerPaths(t *testing.T) {
	forces := &Paths{}
	forces.Add(cty.GetAttrPath("disk"))
	forces.Add(cty.GetAttrPath("disk").IndexInt(0).GetAttr("label"))
	first := forces.below("disk").below("0")
	if !first.Has() || !first.At("label").Has() || first.At("size").Has() {
		t.Errorf("disk[0]: %+v", first)
	}
	if second := forces.below("disk").below("1"); !second.Has() || second.At("label").Has() {
		t.Errorf("disk[1]: %+v", second)
	}
}
