package engine

import (
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"testing"
)

// More jobs are under way than there are tokens, but not where one that waits could keep a lease
// open.
func TestHands(t *testing.T) {
	const item = `
resource "plant_item" "a" { name = "x" }
`
	for _, c := range []struct {
		main  string
		extra int
	}{
		{item, 7},
		{item + `
ephemeral "plant_key" "k" {}
`, 0},
	} {
		w, _ := newPlantWorld(t)
		w.engine.Parallelism = 7
		prog := w.compile(map[string]string{"main.tf": plantHead + c.main})
		p := &planner{run: &run{settings: &w.engine.Settings, receivers: receivers.Analyse(prog, nil)}}
		if got := p.hands() - w.engine.workers(); got != c.extra {
			t.Errorf("%d more than there are workers, want %d:%s", got, c.extra, c.main)
		}
	}
}
