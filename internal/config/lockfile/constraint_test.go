package lockfile

import (
	"testing"

	"github.com/lethe-iac/lethe/internal/config"
)

// TestConstraintsAreWrittenAsInTerraform compares the constraints that Constraint writes with those in lock files of
// Terraform 1.11.4.
func TestConstraintsAreWrittenAsInTerraform(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"~> 1", "~> 1.0"},
		{"~> 1.0-beta1", "~> 1.0-beta1"},
		{"~>1.0.0", "~> 1.0.0"},
		{"1", "1.0.0"},
		{">=1,=1.0", ">= 1.0.0, 1.0.0"},
		{"> 0", "> 0.0.0"},
		{" >= 1.0.0 , < 2.0.0", ">= 1.0.0, < 2.0.0"},
		{">= 1.0.0-beta1", ">= 1.0.0-beta1"},
		{"> 0.9.0-beta, ~> 1.0", "> 0.9.0-beta, ~> 1.0"},
		{"~> 1.0.0-beta1", "~> 1.0.0-beta1"},
		{"= 1.0.0, >= 1.0.0, > 0.1, ~> 1.0, ~> 1.0.0, <= 1.0.0, != 1.0.1", "> 0.1.0, >= 1.0.0, 1.0.0, ~> 1.0.0, ~> 1.0, <= 1.0.0, != 1.0.1"},
		{"< 2.0.0, <= 2.0.0, != 2.0.0, != 0.9, > 0.9, >= 0.9", "> 0.9.0, >= 0.9.0, != 0.9.0, <= 2.0.0, < 2.0.0, != 2.0.0"},
		{"< 2.0.0, <= 2.0.0-beta1, != 2.0.0-alpha1, != 1.5.0+foo", "!= 1.5.0+foo, != 2.0.0-alpha1, <= 2.0.0-beta1, < 2.0.0"},
		{"< 2, < 2.0, < 2.0.0", "< 2.0.0"},
		{"!= 0.3, ~> 1.0, > 0.6, >=0.5,<= 7, = 1, 1.0.0", "!= 0.3.0, >= 0.5.0, > 0.6.0, 1.0.0, ~> 1.0, <= 7.0.0"},
	} {
		if got := Constraint([]config.VersionConstraint{{Text: c.text}}); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
	if got := Constraint([]config.VersionConstraint{{Text: "< 3"}, {Text: "> 1"}, {Text: ">1.0"}}); got != "> 1.0.0, < 3.0.0" {
		t.Errorf("of several modules: %q", got)
	}
}
