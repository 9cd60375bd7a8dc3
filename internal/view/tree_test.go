package view

import (
	"bufio"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// A path in the set includes everything inside it, and longer paths beside it stay where they are.
func TestTreeBelowKeepsLongerPaths(t *testing.T) {
	forces := &tree{}
	forces.add(cty.GetAttrPath("disk"))
	forces.add(cty.GetAttrPath("disk").IndexInt(0).GetAttr("label"))
	first := forces.below("disk").below("0")
	if !first.is() || !first.at("label").is() || first.at("size").is() {
		t.Errorf("disk[0]: %+v", first)
	}
	if second := forces.below("disk").below("1"); !second.is() || second.at("label").is() {
		t.Errorf("disk[1]: %+v", second)
	}
}

// In a diff of lines, a carriage return and the two characters \r look different.
func TestLinesShowControlCharactersUnambiguously(t *testing.T) {
	control, written := mark.Plain(cty.StringVal("x\r\ny")), mark.Plain(cty.StringVal("x\\r\ny"))
	d := &differ{}
	n := d.value(nil, free(control.Raw, nil), free(written.Raw, nil), nil, all)
	var text strings.Builder
	r := &renderer{Writer: bufio.NewWriter(&text)}
	r.value(n, renderOptions{}, "")
	r.Flush()
	if text := text.String(); !strings.Contains(text, `- x\r`) || !strings.Contains(text, `+ x\\r`) {
		t.Error(text)
	}
}
