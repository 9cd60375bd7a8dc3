package cloud

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Fault makes a call of the provider fail or misbehave. In the file .faults it is a line: CALL KEY HOW AFTER.
type Fault struct {
	Call  string // the call, as in Call.Call; "*" is any call
	Key   string // the object or data source, as in Call.Key; "*" is any
	How   string // the kind: one of the constants below
	After int    // number of matching calls before the fault, which are not changed
}

// The kinds of faults. All except Interrupt, Kill, KillBoth, Lie and Leak make the call fail.
const (
	Fail      = "fail"      // the call returns an error and does nothing
	Late      = "late"      // the call does everything, stores its result and returns an error
	Crash     = "crash"     // the provider crashes before the call does anything
	Lost      = "lost"      // the provider crashes after the call has done everything
	Interrupt = "interrupt" // the user interrupts the engine during the call, which succeeds
	Kill      = "kill"      // the engine is killed during the call, which succeeds
	KillBoth  = "killboth"  // the engine and its keeper process are killed during the call, which succeeds
	Lie       = "lie"       // the call returns a result that differs from the plan
	Leak      = "leak"      // the call returns the write-only password in an attribute that is stored
)

func (f Fault) String() string { return fmt.Sprintf("%s %s %s %d", f.Call, f.Key, f.How, f.After) }

// Arrange replaces the faults of future calls. Each fault occurs once.
func (c *Cloud) Arrange(faults []Fault) error {
	path := filepath.Join(c.Dir, ".faults")
	var b strings.Builder
	for _, f := range faults {
		fmt.Fprintln(&b, f)
	}
	return os.WriteFile(path, []byte(b.String()), 0o600)
}

// Wrong returns the kind of the first fault that matches a call and has After 0, and removes the fault. It returns ""
// if no fault matches. For each matching fault with a positive After that precedes it, After becomes smaller by one.
func (c *Cloud) Wrong(call, key string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	path := filepath.Join(c.Dir, ".faults")
	text, err := os.ReadFile(path)
	if err != nil || len(text) == 0 {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for i, line := range lines {
		var f Fault
		if n, _ := fmt.Sscan(line, &f.Call, &f.Key, &f.How, &f.After); n < 3 {
			continue
		}
		if f.Call != call && f.Call != "*" || f.Key != key && f.Key != "*" {
			continue
		}
		if f.After > 0 {
			f.After--
			lines[i] = f.String()
			_ = os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600)
			continue
		}
		_ = os.WriteFile(path, []byte(strings.Join(slices.Delete(lines, i, i+1), "\n")), 0o600)
		return f.How
	}
	return ""
}
