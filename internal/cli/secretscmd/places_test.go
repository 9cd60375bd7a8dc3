package secretscmd

import (
	"context"
	"testing"

	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/store"
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

// TestVersionsAreNotRewritten checks which copies a scrub changes in place. A journal must not name a digest of another
// copy, such as a version that the service of the backend keeps.
func TestVersionsAreNotRewritten(t *testing.T) {
	x := &scrubbing{}
	for _, tt := range []struct {
		text workspace.Text
		want bool
	}{
		{workspace.Text{Kind: workspace.BackupText}, true},
		{workspace.Text{Kind: workspace.ErroredText}, true},
		{workspace.Text{Kind: workspace.JournalText}, false},
		{workspace.Text{Kind: workspace.CurrentText}, false},
		{workspace.Text{Kind: workspace.FormerText, Version: &store.ServiceVersion{}}, false},
	} {
		if got := x.changes(&tt.text); got != tt.want {
			t.Errorf("kind %v, version %v: %t", tt.text.Kind, tt.text.Version, got)
		}
	}
}
