package applying

import (
	"testing"
	"time"
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
				e.whole(func() bool {
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

// What waits for records waits for those that were given before, and for no others.
func TestSettle(t *testing.T) {
	var p pending
	p.settle() // there are none
	p.given()
	p.given()
	over := make(chan bool)
	go func() {
		p.settle()
		close(over)
	}()
	p.written()
	select {
	case <-over:
		t.Error("it did not wait for the second")
	case <-time.After(5 * time.Millisecond):
	}
	p.given() // comes later
	p.written()
	<-over
}
