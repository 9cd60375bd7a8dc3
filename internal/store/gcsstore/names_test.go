package gcsstore

import "testing"

// TestNames checks that the names of objects are Terraform's names, which are joined like file paths.
func TestNames(t *testing.T) {
	for prefix, want := range map[string]string{
		"": "w.tfstate", ".": "w.tfstate", "./env": "env/w.tfstate", "a//b/": "a/b/w.tfstate", "a/../b": "b/w.tfstate", "..": "../w.tfstate", "env/x": "env/x/w.tfstate",
	} {
		r := &remote{o: Options{Prefix: prefix}}
		if got := r.name("w", stateSuffix); got != want {
			t.Errorf("prefix %q: %q, not %q", prefix, got, want)
		}
	}
}
