package schema

import "github.com/zclconf/go-cty/cty"

// versionEnds are the endings of the arguments that announce another value of a write-only argument.
var versionEnds = []string{"_version", "_revision", "_wo_version", "_wo_revision"}

// VersionOf returns the argument beside a write-only argument that announces another value; nil if the schema has none.
// For data_wo, it is data_wo_version or data_wo_revision; for set_pin, set_pin_revision or set_pin_wo_version.
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
