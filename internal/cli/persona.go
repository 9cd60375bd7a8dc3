package cli

import (
	"path/filepath"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
)

// persona is how the program is called and what it calls itself in the lines that other programs
// read: installed under the name of a peer it has the peer's, so that what drives a peer finds the
// lines it looks for. Wrappers put "-bin" behind the name of what they wrap.
func (e *Env) persona() (product, command string) {
	name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(e.Program), ".exe"), "-bin")
	switch name {
	case "terraform":
		return "Terraform", name
	case "tofu":
		return "OpenTofu", name
	}
	return "Lethe", "lethe"
}

// registry is the host under which new providers are known, where neither the configuration nor the
// state names one: that of the peer by whose name the program was called.
func (e *Env) registry() string {
	if e.product() == "Terraform" {
		return addr.TerraformHost
	}
	return addr.DefaultHost
}

func (e *Env) product() string {
	product, _ := e.persona()
	return product
}
