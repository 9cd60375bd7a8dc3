package cli

import (
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/cli/base"
)

// TestStreamOptionsHaveStreams checks that commands with the options of a JSON stream print such a stream. Otherwise
// -json and -json-into would be accepted without an effect.
func TestStreamOptionsHaveStreams(t *testing.T) {
	for _, cmd := range commands() {
		call, _ := (&base.Env{}).New(cmd)
		into := call.Flags.Lookup("json-into")
		if into != nil && strings.Contains(into.Usage, "stream") && !cmd.Stream {
			t.Errorf("%s has -json-into for a stream, and prints none", cmd.Name)
		}
	}
}
