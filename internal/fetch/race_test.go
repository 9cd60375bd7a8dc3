package fetch

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/lethe-iac/lethe/internal/limits"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
)

// TestManyAtOnce installs the same packages with many Providers at the same time, as if they were processes. They share
// one empty cache, and two of them share each working directory.
func TestManyAtOnce(t *testing.T) {
	for round := range 6 {
		s := newStage(t)
		for i := range 5 {
			version := fmt.Sprintf("1.0.%d", i)
			s.addPackage(s.mirror, addr.DefaultHost, version, strings.Repeat(fmt.Sprintf("program %d %d\n", round, i), 20_000))
		}
		cache := t.TempDir()
		var all sync.WaitGroup
		for i := range 12 {
			one := &Providers{Sources: s.p.Sources, CacheDir: cache, DataDir: filepath.Join(s.dir, fmt.Sprint(i/2))}
			all.Go(func() {
				var bag diag.Bag
				l, _ := ReadLockfile(s.dir, limits.Limits{}, &diag.Sources{}, &bag)
				if !one.Install(t.Context(), []Need{{Provider: acme}}, l, false, &bag) {
					t.Errorf("round %d: %s", round, bag.List())
					return
				}
				if err := one.Verify(acme, l); err != nil {
					t.Errorf("round %d: %s", round, err)
				}
			})
		}
		all.Wait()
	}
}
