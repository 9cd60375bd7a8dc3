package plaintext

import (
	"strings"
	"testing"
)

// TestOf checks that comments, descriptions, and sensitive and ephemeral values are not plain, and that all
// other values are.
func TestOf(t *testing.T) {
	native := `
# secret-1
// secret-1
/* secret-1
   secret-1 */
variable "s" {
  description = "Such as secret-1."
  sensitive   = true # secret-1
  default     = "secret-1"
  validation {
    condition     = var.s != "plain-1"
    error_message = "not secret-1"
  }
}
variable "e" {
  ephemeral = true
  default   = ["secret-1"]
}
variable "p" {
  sensitive   = false
  description = <<-EOT
    secret-1
  EOT
  default     = "plain-2"
}
output "o" {
  value       = "secret-1"
  sensitive   = true
  description = "secret-1"
}
output "q" {
  value      = "plain-3"
  deprecated = "secret-1"
}
locals {
  a = sensitive("secret-1")
  b = upper(core::sensitive("secret-1"))
  c = "# plain-4"
  d = "${"plain-5"} // plain-5"
}
resource "plain-6" "b" {
  description = "plain-7"
  lifecycle {
    precondition {
      condition     = true
      error_message = "secret-1"
    }
  }
}
`
	json := `{"//": "secret-1", "variable": {
  "s": {"sensitive": true, "default": {"a": ["secret-1"]}, "description": "secret-1"},
  "e": [{"ephemeral": true, "default": "secret-1"}],
  "p": {"default": "plain-2", "description": "secret-1", "validation": [{"condition": "plain-1", "error_message": "secret-1"}]}},
"output": {"o": {"sensitive": true, "value": "secret-1"}, "q": {"value": "plain-3"}},
"locals": {"a": "${sensitive(\"secret-1\")}", "c": "# plain-4", "d": "// plain-5", "//": "secret-1"},
"resource": {"plain-6": {"b": {"description": "plain-7"}}}}`
	for name, src := range map[string]string{"main.tf": native, "main.tf.json": json} {
		got := Of(name, []byte(src))
		if strings.Contains(got, "secret-1") {
			t.Errorf("%s: a secret is plain:\n%s", name, got)
		}
		for _, want := range []string{"plain-1", "plain-2", "plain-3", "plain-4", "plain-5", "plain-6", "plain-7"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %s is not plain:\n%s", name, want, got)
			}
		}
	}
}
