package view

import (
	"bufio"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/diff"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// TestLinesShowControlCharactersUnambiguously checks that a diff of lines shows a carriage return and the two
// characters \r differently.
func TestLinesShowControlCharactersUnambiguously(t *testing.T) {
	control, written := mark.Plain(cty.StringVal("x\r\ny")), mark.Plain(cty.StringVal("x\\r\ny"))
	d := &diff.Differ{}
	n := d.Value(nil, diff.NewUntypedValue(control.Raw, nil), diff.NewUntypedValue(written.Raw, nil), nil, diff.AllPaths)
	var text strings.Builder
	r := &renderer{Writer: bufio.NewWriter(&text)}
	r.value(n, renderOptions{}, "")
	r.Flush()
	if text := text.String(); !strings.Contains(text, `- x\r`) || !strings.Contains(text, `+ x\\r`) {
		t.Error(text)
	}
}
