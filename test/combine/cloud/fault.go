package cloud

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A Fault makes a call go wrong. In the file .faults it is a line: CALL KEY HOW.
type Fault struct {
	Call string // as in the log; "*" is any
	Key  string // as in the log; "*" is any
	How  string // one of the constants below
}

// What can go wrong. All but Interrupt, Lie and Leak make the call fail.
const (
	Fail      = "fail"      // an error, nothing was done
	Late      = "late"      // an error, everything was done and told
	Crash     = "crash"     // the provider is gone, nothing was done
	Lost      = "lost"      // the provider is gone, everything was done
	Interrupt = "interrupt" // the user interrupts while the call runs, which succeeds
	Lie       = "lie"       // another result than was planned
	Leak      = "leak"      // the write-only password in a computed attribute
)

func (f Fault) String() string { return fmt.Sprintf("%s %s %s", f.Call, f.Key, f.How) }

// Arrange makes calls go wrong from now on, each fault once.
func (c *Cloud) Arrange(faults []Fault) error {
	path := filepath.Join(c.Dir, ".faults")
	var b strings.Builder
	for _, f := range faults {
		fmt.Fprintln(&b, f)
	}
	return os.WriteFile(path, []byte(b.String()), 0o600)
}

// Wrong tells how a call goes wrong, and strikes the fault out; "" is a call that goes well.
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
		if n, _ := fmt.Sscan(line, &f.Call, &f.Key, &f.How); n != 3 {
			continue
		}
		if (f.Call == call || f.Call == "*") && (f.Key == key || f.Key == "*") {
			rest := append(lines[:i:i], lines[i+1:]...)
			_ = os.WriteFile(path, []byte(strings.Join(rest, "\n")), 0o600)
			return f.How
		}
	}
	return ""
}
