package diag

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// A Bug is a panic of ours that did not end the process: an error like others for whom it concerns,
// so that what is open is closed.
type Bug struct {
	What  string // what the runtime says; "" for anything else, which might hold a secret
	Stack []byte
}

func (b *Bug) Error() string {
	return fmt.Sprintf("Lethe crashed while dealing with what a provider sent%s. This is a bug in Lethe, please report it with what follows.\n\n%s", b.What, b.Stack)
}

// Caught is deferred where a goroutine begins whose panic would not be caught otherwise. It makes a Bug
// of it.
func Caught(err *error) {
	v := recover()
	if v == nil {
		return
	}
	bug := &Bug{Stack: debug.Stack()}
	if e, ok := v.(runtime.Error); ok {
		bug.What = fmt.Sprintf(" (%s)", e)
	}
	*err = bug
}
