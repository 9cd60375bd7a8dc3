package schema

import "github.com/zclconf/go-cty/cty"

// versionEnds has the endings of the names of version arguments. A changed version argument tells the provider that a
// write-only argument has a new value.
var versionEnds = []string{"_version", "_revision", "_wo_version", "_wo_revision"}

// VersionOf returns the version argument of a write-only argument (see versionEnds), or nil if the block has no version
// argument. A version argument is an optional number or string. The parameter beside has the attributes of the same
// block. For data_wo the version argument is data_wo_version or data_wo_revision. For set_pin it is, for example,
// set_pin_revision or set_pin_wo_version.
func VersionOf(beside []*Attr, writeOnly string) *Attr {
	for _, end := range versionEnds {
		for _, a := range beside {
			if a.Name == writeOnly+end && a.Optional && (a.Type == cty.Number || a.Type == cty.String) {
				return a
			}
		}
	}
	return nil
}
