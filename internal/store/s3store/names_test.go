package s3store

import "testing"

// TestNames checks the keys of states. They are the keys of Terraform, which joins their parts like a file path and
// uses the key of the default workspace unchanged. It also checks that the name of a workspace can be recovered from
// its key.
func TestNames(t *testing.T) {
	for _, tt := range []struct{ prefix, key, want string }{
		{"env:", "net/a.tfstate", "env:/w/net/a.tfstate"},
		{"", "k/terraform.tfstate", "w/k/terraform.tfstate"},
		{"env:", "./terraform.tfstate", "env:/w/terraform.tfstate"},
		{"a//b", "k", "a/b/w/k"},
		{".", "k", "w/k"},
		{"./x", "k", "x/w/k"},
		{"a/../b", "k", "b/w/k"},
		{"..", "k", "../w/k"},
		{"p", "a/../k", "p/w/k"},
	} {
		r := &remote{Options{Prefix: tt.prefix, Key: tt.key}}
		if got := r.path("w"); got != tt.want || r.path("default") != tt.key {
			t.Errorf("prefix %q, key %q: %q, not %q; default: %q", tt.prefix, tt.key, got, tt.want, r.path("default"))
		}
		if w, ok := r.named(tt.want, ""); !ok || w != "w" {
			t.Errorf("prefix %q, key %q: %q is of %q, %t", tt.prefix, tt.key, tt.want, w, ok)
		}
		if w, ok := r.named(tt.want+journalSuffix+"run/1", journalSuffix); !ok || w != "w" {
			t.Errorf("prefix %q, key %q: a journal is of %q, %t", tt.prefix, tt.key, w, ok)
		}
	}
}
