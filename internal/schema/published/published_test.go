package published

import (
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
)

// TestFactsCanBeRead reads the file of facts and finds a defect and a generator.
func TestFactsCanBeRead(t *testing.T) {
	aws := addr.Provider{Host: "registry.opentofu.org", Namespace: "hashicorp", Type: "aws"}
	if d := DefectOf(aws, "aws_db_instance", "password"); d == nil || !strings.HasSuffix(d.Issue, "/42582") || DefectOf(aws, "aws_db_instance", "username") != nil {
		t.Errorf("%+v", d)
	}
	if !IsGenerator(addr.Provider{Host: "registry.terraform.io", Namespace: "hashicorp", Type: "random"}, "random_password", "result") || IsGenerator(aws, "random_password", "result") {
		t.Error("generators")
	}
}
