package clients

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// TestTestSpeed checks that 200 runs of a small module take at most a tenth of the CPU time of Terraform. It measures
// both directly after each other.
func TestTestSpeed(t *testing.T) {
	peer, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("there is no terraform")
	}
	s := newShared(t, tofuHost)
	s.file("main.tf", "variable \"name\" {\n  type = string\n}\nresource \"terraform_data\" \"r\" {\n  input = var.name\n}\noutput \"is\" {\n  value = terraform_data.r.output\n}\n")
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "run \"r%d\" {\n  variables {\n    name = \"n%d\"\n  }\n  assert {\n    condition     = output.is == \"n%d\"\n    error_message = \"Another value.\"\n  }\n}\n", i, i, i)
	}
	s.file("main.tftest.hcl", b.String())
	s.run(peer, "init")
	ours, theirs := s.least(binary(t, lethe), "test"), s.least(peer, "test")
	t.Logf("%s and %s of CPU: 1 to %.1f", ours, theirs, float64(theirs)/float64(ours))
	if theirs < 10*ours {
		t.Errorf("200 runs take %s, and %s with Terraform", ours, theirs)
	}
}
