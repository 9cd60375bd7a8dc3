package view

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/view/queue"
	"golang.org/x/text/width"
)

// live is the block at the bottom of a terminal during operations: a row for each of the operations that began first,
// and a row with the progress. Other lines are printed above it. They are the same lines as without a terminal, except
// that lines about refreshing are only counted. When all operations have ended, the block is removed.
//
// State and drawing are separate: follow updates the state, rows only computes text, and draw writes the rows to the
// screen. Output is held back until the next frame, so that a burst of lines needs only one write.
type live struct {
	w     io.Writer
	o     Options
	width int
	total int // steps of the apply; 0 if not known
	queue queue.Queue

	done, failed int
	began        time.Time       // when the first step began; zero before the first step
	refreshed    int             // number of objects that were refreshed
	loaded       int             // number of downloads that have ended
	height       int             // number of rows of the block that are on the screen
	most         int             // the number of rows for operations for which the terminal has room
	pending      strings.Builder // text to print above the block at the next drawing
	drawn        time.Time       // when the block was drawn last
}

const (
	frame    = 100 * time.Millisecond // the minimum time between two drawings
	maxRows  = 10
	minWidth = 40  // the width of the narrowest terminal for a block
	maxWidth = 100 // the width of the widest block: a number at the far end of a long line is hard to find
)

// follow updates the counters and the queue of the block for an event.
func (l *live) follow(e event.Event) {
	switch e := e.(type) {
	case event.Started:
		if counted(e.Op) && !e.Refreshing {
			l.queue.Started(e.Object, destroys(e.Op))
			if l.began.IsZero() {
				l.began = l.o.now()
			}
		}
	case event.Done:
		if counted(e.Op) && !e.Refreshing {
			l.done++
		}
		if e.Op == event.Refresh {
			l.refreshed++
		}
	case event.Failed:
		if counted(e.Op) {
			l.failed++
		}
	case event.Transfer:
		if e.Ended && e.Unit == "" {
			l.loaded++
		}
	}
}

// counted reports whether an operation is a step of an apply.
func counted(o event.Op) bool {
	return vocabulary[o].kind == "apply" || o == event.Forget
}

func destroys(o event.Op) bool { return o == event.Delete || o == event.Forget }

// steps returns the number of operations that the apply of a plan needs.
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

// print adds text that the next drawing writes above the block. It writes text for another stream than l.w at once.
func (l *live) print(w io.Writer, s string) {
	if w != l.w {
		l.flush(nil)
		io.WriteString(w, s)
		return
	}
	l.pending.WriteString(s)
}

// draw redraws the block, at most once in each frame period. If no operation is in progress, draw writes the pending
// lines and removes the block at once, because another writer may follow.
func (l *live) draw(r *running, now time.Time) {
	if !r.busy() {
		l.flush(nil)
		return
	}
	if now.Sub(l.drawn) < frame && now.After(l.drawn) {
		return
	}
	l.drawn = now
	l.most = maxRows
	if l.o.Resized != nil {
		if columns, lines := l.o.Resized(); columns > 0 && lines > 0 {
			l.width, l.most = columns, min(max(lines-2, 1), maxRows) // subtract the row with the progress and the row of the cursor
		}
	}
	if l.width < minWidth { // the terminal is too narrow, but the user may make it wider again
		l.flush(nil)
		return
	}
	l.flush(append(l.loading(r.transfers(), now), l.rows(r.list(), now)...))
}

// flush erases the block, writes the pending lines, and draws the rows.
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

// loading returns the rows of the block for transfers in progress. For downloads, the last row has their sum.
func (l *live) loading(all []*move, now time.Time) []string {
	if len(all) == 0 {
		return nil
	}
	var rows []string
	for i, m := range all {
		if i == l.most-1 && len(all) > l.most {
			rows = append(rows, l.row(fmt.Sprintf("  … and %d more", len(all)-i), "", dim))
			break
		}
		rows = append(rows, l.row("  "+EscapeLine(m.name), m.progress(now), ""))
	}
	if all[0].unit != "" {
		return rows
	}
	return append(rows, l.row(fmt.Sprintf("%d/%d downloaded", l.loaded, l.loaded+len(all)), together(all).progress(now), bold))
}

// rows returns the rows of the block for operations. ops must be sorted by the time of their start: rows shows the
// oldest operations. It sorts these by their addresses, so that a row keeps its place.
func (l *live) rows(ops []*op, now time.Time) []string {
	if len(ops) == 0 {
		return nil
	}
	shown := ops
	if len(ops) > l.most {
		shown = ops[:l.most-1]
	}
	shown = slices.SortedFunc(slices.Values(shown), func(a, b *op) int {
		return cmp.Or(a.object.Compare(b.object), cmp.Compare(a.op, b.op))
	})
	var rows []string
	for _, o := range shown {
		took, what := seconds(max(now.Sub(o.began), 0)), ": "+o.still()
		name := elide(EscapeLine(o.object.String()), l.space(took)-2-columns(what))
		rows = append(rows, l.row("  "+name+what, took, ""))
	}
	if more := len(ops) - len(shown); more > 0 {
		rows = append(rows, l.row(fmt.Sprintf("  … and %d more", more), "", dim))
	}
	return append(rows, l.row(l.progress(ops, now), "", bold))
}

// held names the operation that most of the waiting objects wait for, as in "60 wait for aws_vpc.main (2m13s)". It
// ignores operations that are younger than a second. It returns "" if no object waits for another operation.
func (l *live) held(ops []*op, now time.Time) string {
	most, text := 0, ""
	for _, o := range ops {
		took := now.Sub(o.began)
		if n := l.queue.Behind(o.object, destroys(o.op)); counted(o.op) && n > most && took >= time.Second {
			most, text = n, fmt.Sprintf("%d wait for %s (%s)", n, EscapeLine(o.object.String()), seconds(took))
		}
	}
	return text
}

// progress returns the progress row, as in "2 failed · 37/120 done · about 1m20s left · 8 running · 73 waiting · 60
// wait for aws_vpc.main (2m13s)". The most important parts come first, because a narrow terminal cuts off the end.
func (l *live) progress(ops []*op, now time.Time) string {
	running := len(ops)
	var parts []string
	if l.failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", l.failed))
	}
	if l.total > 0 {
		parts = append(parts, fmt.Sprintf("%d/%d done", l.done, l.total))
		if left := l.left(now); left > 0 {
			parts = append(parts, fmt.Sprintf("about %s left", seconds(left)))
		}
	}
	parts = append(parts, fmt.Sprintf("%d running", running))
	switch {
	case l.total > 0:
		if waiting := l.total - l.done - l.failed - running; waiting > 0 {
			parts = append(parts, fmt.Sprintf("%d waiting", waiting))
		}
		if held := l.held(ops, now); held != "" {
			parts = append(parts, held)
		}
	case l.refreshed > 0:
		parts = append(parts, fmt.Sprintf("%d refreshed", l.refreshed))
	}
	return strings.Join(parts, " · ")
}

// left estimates the remaining time. It returns 0 in the first five seconds, before ten steps are done, and after a
// failure, because the steps that depend on the failed step will not run.
func (l *live) left(now time.Time) time.Duration {
	took := now.Sub(l.began)
	if l.failed > 0 || l.done < 10 || took < 5*time.Second {
		return 0
	}
	left := took / time.Duration(l.done) * time.Duration(max(l.total-l.done, 0))
	return left.Round(time.Second)
}

// row returns a line that fits the screen. right is at the right end of the line.
func (l *live) row(text, right string, s style) string {
	space := l.space(right)
	text = fit(text, space)
	if right != "" {
		text += strings.Repeat(" ", space-columns(text)+2) + right
	}
	return l.o.paint(text, s)
}

// space returns the number of columns that remain in a row to the left of a text at its right end.
func (l *live) space(right string) int {
	space := min(l.width, maxWidth) - 1 - columns(right)
	if right != "" {
		space -= 2
	}
	return space
}

// columns returns the number of terminal columns that s needs.
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

// fit shortens text to a number of columns, and marks the cut.
func fit(s string, space int) string {
	if columns(s) <= space {
		return s
	}
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n+runeColumns(r) > space-1 {
			break
		}
		n += runeColumns(r)
		b.WriteRune(r)
	}
	return b.String() + "…"
}

// elide shortens an address to a number of columns in its middle, because addresses of one kind differ at their ends.
func elide(s string, space int) string {
	if columns(s) <= space {
		return s
	}
	runes := []rune(s)
	at := len(runes)
	for n := 0; at > 0 && n+runeColumns(runes[at-1]) <= (space-1)/2; at-- {
		n += runeColumns(runes[at-1])
	}
	end := string(runes[at:])
	return fit(s, space-columns(end)) + end
}
