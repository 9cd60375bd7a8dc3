package planning

import (
	"testing"

	"github.com/lethe-iac/lethe/internal/engine/enginetest"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/engine/run"
)

// A walk runs more jobs than it has tokens (permissions for a provider call). If the configuration has leases
// (ephemeral resources), there are no more jobs than tokens, because a job that waits for a token could keep a lease
// open.
func TestMaxJobs(t *testing.T) {
	const item = "resource \"t_item\" \"a\" {\n}\n"
	for config, extra := range map[string]int{item: 7, item + "ephemeral \"t_key\" \"k\" {\n}\n": 0} {
		s := &run.Settings{Parallelism: 7}
		if got := maxJobs(s, receivers.Analyse(enginetest.Program(t, map[string]string{"main.tf": config}), nil)) - s.Workers(); got != extra {
			t.Errorf("%d more than there are workers, want %d:%s", got, extra, config)
		}
	}
}
