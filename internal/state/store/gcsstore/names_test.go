package gcsstore

import "testing"

// TestNames: the names of objects are those of Terraform, which joins their parts as those of a path.
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
