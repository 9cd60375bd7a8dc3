package stores

import (
	"strings"
	"testing"
)

// TestNamesBesideTerraform checks that Lethe finds states written by Terraform for all spellings of their place: empty
// parts, ".", "..".
func TestNamesBesideTerraform(t *testing.T) {
	t.Parallel()
	all := places(t)
	set := func(name string, more ...string) place {
		p := all[name]
		for i := 0; i < len(more); i += 2 {
			if p.backend = strings.Replace(p.backend, more[i], more[i+1], 1); !strings.Contains(p.backend, more[i+1]) {
				t.Fatalf("%s has no %s", name, more[i])
			}
		}
		return p
	}
	for name, p := range map[string]place{
		"azurerm": set("azurerm", `key = "a"`, `key = "./a"`),
		"gcs, .":  set("gcs", `prefix = "a"`, `prefix = "."`), "gcs, parts": set("gcs", `prefix = "a"`, `prefix = "./x//y/../z/"`),
		"s3, no prefix": set("s3 with a lock object", `key = "a"`, "key = \"k/a\"\n    workspace_key_prefix = \"\""),
		"s3, parts":     set("s3 with a table", `key = "b"`, "key = \"./b\"\n    workspace_key_prefix = \"p//q\""),
		"consul":        set("consul", `path = "a"`, `path = "./a//b"`),
	} {
		t.Run(name, func(t *testing.T) {
			l, tf := pair(t, p)
			tf.run(0, "apply", "-auto-approve", "-var", "v=default")
			tf.run(0, "workspace", "new", "w")
			tf.run(0, "apply", "-auto-approve", "-var", "v=other")
			l.run(0, "plan", "-detailed-exitcode", "-var", "v=default")
			wants(t, l.run(0, "workspace", "list"), "default", "w")
			l.run(0, "workspace", "select", "w")
			l.run(0, "plan", "-detailed-exitcode", "-var", "v=other")
		})
	}
}
