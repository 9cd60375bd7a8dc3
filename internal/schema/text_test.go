package schema

import (
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// breachText formats a breach for the place after an object's address, as Terraform and OpenTofu do.
func breachText(b Breach) string { return pathText(b.Path) + ": " + b.Text }

// pathText formats a path for the place after an object's address, as Terraform and OpenTofu do: ".rule[0].port".
func pathText(p cty.Path) string {
	var b strings.Builder
	for _, s := range p {
		switch s := s.(type) {
		case cty.GetAttrStep:
			b.WriteString("." + s.Name)
		case cty.IndexStep:
			b.WriteString(keyText(s.Key))
		}
	}
	return b.String()
}

func keyText(k cty.Value) string {
	switch {
	case !k.IsKnown():
		return "[(not yet known)]"
	case k.IsNull():
	case k.Type() == cty.String:
		return "[" + strconv.Quote(k.AsString()) + "]"
	case k.Type() == cty.Number:
		return "[" + k.AsBigFloat().Text('f', -1) + "]"
	}
	return "[...]"
}
