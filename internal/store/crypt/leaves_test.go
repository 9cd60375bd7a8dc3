package crypt

import (
	"bytes"
	"context"
	"encoding/base64"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"
)

// TestExternalLeavesProcesses checks that a command does not wait for processes that a program started and that hold
// its output open, neither after the program has ended nor after the context has ended.
func TestExternalLeavesProcesses(t *testing.T) {
	answer := `echo '{"magic":"OpenTofu-External-Key-Provider","version":1}'
echo '{"keys":{"encryption_key":"` + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32)) + `"},"meta":{}}'
`
	began := time.Now()
	for text, timeout := range map[string]time.Duration{"sleep 60 &\n" + answer: time.Minute, "sleep 60\n" + answer: 100 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		target := with(provider(t, "external", "e", map[string]cty.Value{"command": cty.ListVal([]cty.Value{cty.StringVal(script(t, text))})}))
		if _, err := target.Seal(ctx, []byte(plainState)); (err == nil) != (timeout == time.Minute) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %s", took)
	}
}
