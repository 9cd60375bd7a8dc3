package cloud

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Fault makes a call fail. In the file .faults it is a line: CALL KEY HOW AFTER.
type Fault struct {
	Call  string // as in the log; "*" is any
	Key   string // as in the log; "*" is any
	How   string // one of the constants below
	After int    // number of such calls that succeed before
}

// The kinds of faults. All except Interrupt, Kill, KillBoth, Lie and Leak make the call fail.
const (
	Fail      = "fail"      // an error, nothing was done
	Late      = "late"      // an error, everything was done and reported
	Crash     = "crash"     // the provider crashes, nothing was done
	Lost      = "lost"      // the provider crashes, everything was done
	Interrupt = "interrupt" // the user interrupts while the call runs, which succeeds
	Kill      = "kill"      // the engine is killed while the call runs, which succeeds
	KillBoth  = "killboth"  // the engine and its keeper are killed while the call runs, which succeeds
	Lie       = "lie"       // the result differs from the plan
	Leak      = "leak"      // the write-only password in a computed attribute
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

// Wrong returns the kind of the first fault for a call and removes the fault. It returns "" if no fault is for the
// call. A fault that is for the call but has a positive After is not returned: its After is decreased.
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
