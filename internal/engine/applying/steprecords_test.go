package applying

import (
	"testing"
	"testing/synctest"
	"time"
)

// A step that fails or panics ends only after its journal records are durable.
func TestFailedStepWaits(t *testing.T) {
	for name, work := range map[string]func() bool{
		"fails":  func() bool { return false },
		"panics": func() bool { panic("boo") },
	} {
		synctest.Test(t, func(t *testing.T) {
			e := &stepRecords{}
			written := false
			func() {
				defer func() { _ = recover() }()
				e.whole(func() bool {
					finish := e.record(func(error) { written = true })
					go func() {
						time.Sleep(time.Second)
						finish(nil)
					}()
					return work()
				})
			}()
			if !written {
				t.Errorf("a step that %s did not wait", name)
			}
		})
	}
}

// pending.settle waits for the journal records that were given before the call of settle, and for no later records.
func TestSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pending
		p.settle() // settle returns at once, because no record was given
		p.given()
		p.given()
		done := make(chan bool)
		go func() {
			p.settle()
			close(done)
		}()
		p.written()
		synctest.Wait()
		select {
		case <-done:
			t.Error("it did not wait for the second")
		default:
		}
		p.given() // settle does not wait for this record, which was given after its call
		p.written()
		<-done
	})
}
