package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lethe-iac/lethe/internal/event"
)

// move is a download that is under way.
type move struct {
	name      string
	began     time.Time
	done, all int64 // bytes; all is not above 0 where it is not known
}

// busy reports whether anything runs.
func (r *running) busy() bool { return len(r.ops)+len(r.moves) > 0 }

// move notes how far a download is.
func (r *running) move(e event.Transfer) {
	if e.Ended {
		delete(r.moves, e.Name)
		return
	}
	if r.moves == nil {
		r.moves = map[string]*move{}
	}
	m := r.moves[e.Name]
	if m == nil {
		m = &move{name: e.Name, began: r.now()}
		r.moves[e.Name] = m
	}
	m.done, m.all = e.Done, e.All
}

// transfers are the downloads, the oldest first.
func (r *running) transfers() []*move {
	out := slices.Collect(maps.Values(r.moves))
	slices.SortFunc(out, func(a, b *move) int { return cmp.Or(a.began.Compare(b.began), cmp.Compare(a.name, b.name)) })
	return out
}

// progress is how far a download is: "12.3/50.0 MB · 5.1 MB/s · 8s left", as far as that is known.
func (m *move) progress(now time.Time) string {
	text := fmt.Sprintf("%.1f MB", megabytes(m.done))
	if m.all > 0 {
		text = fmt.Sprintf("%.1f/%.1f MB", megabytes(m.done), megabytes(m.all))
	}
	took := now.Sub(m.began)
	if took < time.Second || m.done == 0 {
		return text
	}
	rate := float64(m.done) / took.Seconds()
	text += fmt.Sprintf(" · %.1f MB/s", rate/1e6)
	if m.all > 0 {
		text += fmt.Sprintf(" · %s left", seconds(time.Duration(float64(max(m.all-m.done, 0))/rate*float64(time.Second))+time.Second-1))
	}
	return text
}

func megabytes(n int64) float64 { return float64(n) / 1e6 }

// together sums up downloads that are under way.
func together(all []*move) *move {
	sum := &move{began: all[0].began}
	known := true
	for _, m := range all {
		sum.done, sum.all, known = sum.done+m.done, sum.all+m.all, known && m.all > 0
	}
	if !known {
		sum.all = 0
	}
	return sum
}
