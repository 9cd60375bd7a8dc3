package fetch

import (
	"fmt"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/event"
)

// Progress reports the progress of an installation. Several goroutines may use it: calls of Note do not overlap.
type Progress struct {
	Note     func(event.Note)     // gets notes about the steps; nil: the notes are dropped
	Transfer func(event.Transfer) // gets the progress of downloads, concurrently; nil: the progress is dropped
	mu       sync.Mutex           // held during Note
}

// notef sends a note with the same text for people and for programs.
func (g *Progress) notef(format string, args ...any) {
	g.send(event.Note{Text: fmt.Sprintf(format, args...)})
}

// note sends a note with two texts: one for users, and one for programs that follow init. The texts differ in the same
// way as Terraform's texts.
func (g *Progress) note(text, record string) { g.send(event.Note{Text: text, Record: record}) }

func (g *Progress) send(n event.Note) {
	if g.Note != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.Note(n)
	}
}

// download returns functions that report the progress of a download, at most ten times a second, and its end. A
// download without a name is not reported.
func (g *Progress) download(name string) (moved func(done, all int64), ended func()) {
	report := func(t event.Transfer) {
		if g.Transfer != nil && name != "" {
			g.Transfer(t)
		}
	}
	var last time.Time
	report(event.Transfer{Name: name})
	return func(done, all int64) {
		if now := time.Now(); now.Sub(last) > 100*time.Millisecond {
			last = now
			report(event.Transfer{Name: name, Done: done, All: all})
		}
	}, func() { report(event.Transfer{Name: name, Ended: true}) }
}
