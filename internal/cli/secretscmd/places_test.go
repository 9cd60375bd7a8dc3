package secretscmd

import (
	"context"
	"testing"

	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// TestReadingOfVersionsEnds checks that the event for the end of the work on earlier versions is sent after all
// versions, after an error and after an interrupt.
func TestReadingOfVersionsEnds(t *testing.T) {
	texts := []workspace.Text{{Kind: workspace.FormerText}, {Kind: workspace.CurrentText}, {Kind: workspace.FormerText}}
	for name, read := range map[string]func(cancel func(), n int) bool{
		"success":   func(func(), int) bool { return true },
		"error":     func(_ func(), n int) bool { return n < 2 },
		"interrupt": func(cancel func(), _ int) bool { cancel(); return true },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var sent []event.Transfer
		n := 0
		_, ok := (&collection{}).each(ctx, texts, func(e event.Event) { sent = append(sent, e.(event.Transfer)) }, func(*workspace.Text) (bool, bool) {
			n++
			return true, read(cancel, n)
		})
		if ok != (name == "success") || len(sent) < 2 || !sent[len(sent)-1].Ended || sent[0].Ended {
			t.Errorf("%s: %v, %+v", name, ok, sent)
		}
	}
}
