package view

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/plan"
	"golang.org/x/text/width"
)

// The live block stands at the bottom of a terminal while something runs: a row for each of the
// operations that run longest, and one with how much is done. Lines scroll by above it, the very
// lines that a pipe would get, and when nothing runs any more the block is gone.
//
// State and drawing are apart: follow counts, rows is pure, draw puts rows on the screen. What is
// printed is held back until the next frame, so that a burst of lines costs one write.
type live struct {
	w     io.Writer
	o     Options
	width int
	total int // steps of the apply; 0: not known

	done, failed int
	loaded       int // downloads that have ended
	height       int // rows on the screen
	pending      strings.Builder
	drawn        time.Time
}

const (
	frame    = 100 * time.Millisecond // between two drawings
	maxRows  = 10
	minWidth = 40 // of a terminal that can hold the block
)

// follow counts.
func (l *live) follow(e event.Event) {
	switch e := e.(type) {
	case event.Done:
		if counted(e.Op) && !e.Refreshing {
			l.done++
		}
	case event.Failed:
		if counted(e.Op) {
			l.failed++
		}
	case event.Transfer:
		if e.Ended {
			l.loaded++
		}
	}
}

// counted reports whether an operation is a step of an apply.
func counted(o event.Op) bool {
	return vocabulary[o].kind == "apply" || o == event.Forget
}

// steps is how many operations a plan will take.
func steps(p *plan.Plan) int {
	n := 0
	for _, c := range p.Changes {
		if c.Object.Mode == addr.Data && c.Action != plan.Read {
			continue
		}
		if c.Action.Ups() {
			n++
		}
		if c.Action.Downs() {
			n++
		}
	}
	return n
}

// print puts text above the block. Text for another stream is written at once.
func (l *live) print(w io.Writer, s string) {
	if w != l.w {
		l.flush(nil)
		io.WriteString(w, s)
		return
	}
	l.pending.WriteString(s)
}

// draw brings the screen up to date. With nothing running that is done at once, since
// another writer may follow.
func (l *live) draw(r *running, now time.Time) {
	if !r.busy() {
		l.flush(nil)
		return
	}
	if now.Sub(l.drawn) < frame && now.After(l.drawn) {
		return
	}
	l.drawn = now
	l.flush(append(l.loading(r.transfers(), now), l.rows(r.list(), now)...))
}

// flush erases the block, writes what is pending, and draws the rows.
func (l *live) flush(rows []string) {
	if l.height == 0 && l.pending.Len() == 0 && len(rows) == 0 {
		return
	}
	var b strings.Builder
	if l.height > 0 {
		fmt.Fprintf(&b, "\r\x1b[%dA\x1b[J", l.height)
	}
	b.WriteString(l.pending.String())
	l.pending.Reset()
	for _, r := range rows {
		b.WriteString(r + "\n")
	}
	l.height = len(rows)
	io.WriteString(l.w, b.String())
}

func (l *live) finish() { l.flush(nil) }

// loading is what the block says of downloads.
func (l *live) loading(all []*move, now time.Time) []string {
	if len(all) == 0 {
		return nil
	}
	var rows []string
	for i, m := range all {
		if i == maxRows-1 && len(all) > maxRows {
			rows = append(rows, l.row(fmt.Sprintf("  … and %d more", len(all)-i), "", dim))
			break
		}
		rows = append(rows, l.row("  "+escapeLine(m.name), m.progress(now), ""))
	}
	return append(rows, l.row(fmt.Sprintf("%d/%d downloaded", l.loaded, l.loaded+len(all)), together(all).progress(now), bold))
}

// rows is what the block says of operations.
func (l *live) rows(ops []*op, now time.Time) []string {
	if len(ops) == 0 {
		return nil
	}
	var rows []string
	for i, o := range ops {
		if i == maxRows-1 && len(ops) > maxRows {
			rows = append(rows, l.row(fmt.Sprintf("  … and %d more", len(ops)-i), "", dim))
			break
		}
		rows = append(rows, l.row(fmt.Sprintf("  %s: %s", escapeLine(o.object.String()), o.words().still), seconds(max(now.Sub(o.began), 0)), ""))
	}
	return append(rows, l.row(l.progress(len(ops)), "", bold))
}

// progress is "37/120 done · 8 running · 75 waiting · 0 failed".
func (l *live) progress(running int) string {
	if l.total == 0 {
		return fmt.Sprintf("%d running", running)
	}
	waiting := max(l.total-l.done-l.failed-running, 0)
	return fmt.Sprintf("%d/%d done · %d running · %d waiting · %d failed", l.done, l.total, running, waiting, l.failed)
}

// row is one line that fits the screen, with text at its right end.
func (l *live) row(text, right string, s style) string {
	room := l.width - 1 - columns(right)
	if right != "" {
		room -= 2
	}
	text = fit(text, room)
	if right != "" {
		text += strings.Repeat(" ", room-columns(text)+2) + right
	}
	return l.o.paint(text, s)
}

// columns is how wide text is on a terminal.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int {
	if r < 0x1100 {
		return 1
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// fit shortens text to a number of columns.
func fit(s string, room int) string {
	if columns(s) <= room {
		return s
	}
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n+runeColumns(r) > room-1 {
			break
		}
		n += runeColumns(r)
		b.WriteRune(r)
	}
	return b.String() + "…"
}
