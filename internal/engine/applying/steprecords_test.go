package applying

import (
	"errors"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/walk"
)

// A step that fails, or panics, has its records durable before it is over too.
func TestFailedStepWaits(t *testing.T) {
	for name, work := range map[string]func() bool{
		"fails":  func() bool { return false },
		"panics": func() bool { panic("boo") },
	} {
		t.Run(name, func(t *testing.T) {
			e := &stepRecords{}
			written := false
			func() {
				defer func() { _ = recover() }()
				e.whole(&walk.Fan{}, func() bool {
					over := e.record(func(error) { written = true })
					go func() {
						time.Sleep(5 * time.Millisecond)
						over(nil)
					}()
					return work()
				})
			}()
			if !written {
				t.Error("it did not wait")
			}
		})
	}
}

// A step with several records is over after the last of them, in any order in which they become
// durable; and lost if one is.
func TestEndingOfSeveral(t *testing.T) {
	for _, lost := range []error{nil, errors.New("lost")} {
		e := &stepRecords{}
		first, second := e.record(func(error) {}), e.record(func(error) {})
		var told []bool
		second(nil)
		e.rest(func(ok bool) { told = append(told, ok) })
		if len(told) > 0 {
			t.Error("over before the first record is durable")
		}
		first(lost)
		if len(told) != 1 || told[0] != (lost == nil) {
			t.Errorf("lost %v: told %v", lost, told)
		}
	}
	e := &stepRecords{}
	ok := false
	if e.rest(func(well bool) { ok = well }); !ok {
		t.Error("a step without records is over at once")
	}
}
