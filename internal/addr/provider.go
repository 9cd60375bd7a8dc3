package addr

import (
	"cmp"
	"fmt"
	"strings"

	"golang.org/x/net/idna"
)

// Hosts and namespaces with a meaning of their own.
const (
	DefaultHost      = "registry.opentofu.org" // of a source without a host
	TerraformHost    = "registry.terraform.io" // the same providers under Terraform's name
	BuiltinHost      = "terraform.io"          // of what is built in
	BuiltinNamespace = "builtin"               //
	DefaultNamespace = "hashicorp"             // of a source without a namespace
	LegacyNamespace  = "-"                     // of addresses older than namespaces
)

// Provider is the address of a provider: where it comes from, in whose name.
type Provider struct{ Host, Namespace, Type string }

// Builtin is the provider of that name inside the program.
func Builtin(name string) Provider { return Provider{BuiltinHost, BuiltinNamespace, name} }

// Default is the provider that an undeclared local name stands for.
func Default(name string) Provider {
	if name == "terraform" || name == "lethe" {
		return Builtin(name)
	}
	return Provider{DefaultHost, DefaultNamespace, name}
}

// IsBuiltin reports whether p is part of the program.
func (p Provider) IsBuiltin() bool { return p.Host == BuiltinHost && p.Namespace == BuiltinNamespace }

// IsZero reports whether p names nothing.
func (p Provider) IsZero() bool { return p == Provider{} }

// Canon is p with the registry hosts of Terraform and OpenTofu made one: two providers with equal
// Canon are the same unless a configuration names one host explicitly.
func (p Provider) Canon() Provider {
	if p.Host == TerraformHost {
		p.Host = DefaultHost
	}
	if p.Namespace == LegacyNamespace && p.Host == DefaultHost {
		p.Namespace = DefaultNamespace
	}
	return p
}

// Counterpart is p under the host of the other of the two registries; false for providers that are in neither.
func (p Provider) Counterpart() (Provider, bool) {
	switch p.Host {
	case DefaultHost:
		p.Host = TerraformHost
	case TerraformHost:
		p.Host = DefaultHost
	default:
		return p, false
	}
	return p, true
}

// String is "host/namespace/type".
func (p Provider) String() string { return p.Host + "/" + p.Namespace + "/" + p.Type }

// ForDisplay leaves out the hosts of the two registries, which name the same providers.
func (p Provider) ForDisplay() string {
	if p.Host == DefaultHost || p.Host == TerraformHost {
		return p.Namespace + "/" + p.Type
	}
	return p.String()
}

// Compare orders as String would.
func (p Provider) Compare(o Provider) int {
	return cmp.Or(strings.Compare(p.Host, o.Host), strings.Compare(p.Namespace, o.Namespace), strings.Compare(p.Type, o.Type))
}

// ParseProvider reads a source address: "type", "namespace/type" or "host/namespace/type".
func ParseProvider(s string) (Provider, error) {
	parts := strings.Split(s, "/")
	if len(parts) > 3 {
		return Provider{}, fmt.Errorf("a provider source has at most three parts separated by slashes, [HOST/][NAMESPACE/]TYPE, and %q has %d", s, len(parts))
	}
	p := Provider{Host: DefaultHost, Namespace: DefaultNamespace, Type: strings.ToLower(parts[len(parts)-1])}
	if len(parts) > 1 {
		p.Namespace = strings.ToLower(parts[len(parts)-2])
	}
	if len(parts) > 2 {
		host, err := normalHost(parts[0])
		if err != nil {
			return Provider{}, err
		}
		p.Host = host
	}
	if p.Namespace != LegacyNamespace {
		if err := checkPart("namespace", p.Namespace); err != nil {
			return Provider{}, err
		}
	}
	if err := checkPart("type", p.Type); err != nil {
		return Provider{}, err
	}
	return p, nil
}

func normalHost(s string) (string, error) {
	host := strings.ToLower(s)
	if strings.Contains(host, "xn--") { // punycode: the same host has one address
		if readable, err := idna.Display.ToUnicode(host); err == nil {
			host = readable
		}
	}
	name, _, _ := strings.Cut(host, ":")
	if name == "" || strings.ContainsAny(host, " \t\"'@?#[]()") || (!strings.Contains(name, ".") && name != "localhost") {
		return "", fmt.Errorf("%q is not a valid host name for a provider source", s)
	}
	return host, nil
}

func checkPart(what, s string) error {
	bad := s == "" || strings.HasPrefix(s, "-") || strings.HasSuffix(s, "-") || strings.Contains(s, "--")
	for _, r := range s {
		bad = bad || !(r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r > 0x7f)
	}
	if bad {
		return fmt.Errorf("%q is not a valid provider %s: it must consist of letters, digits and single dashes, and may not begin or end with a dash", s, what)
	}
	if what == "type" && (strings.HasPrefix(s, "terraform-provider-") || strings.HasPrefix(s, "terraform-")) {
		return fmt.Errorf("provider source types do not include the prefix %q: write just the part after it", "terraform-provider-")
	}
	return nil
}

// ProviderConfig is one configuration of a provider in a module: the default one, or an alias.
type ProviderConfig struct {
	Module   Module
	Provider Provider
	Alias    string // "" is the default configuration
}

// String is as state files write it: `module.a.provider["host/ns/type"].alias`.
func (c ProviderConfig) String() string {
	s := join(c.Module.String(), `provider["`+c.Provider.String()+`"]`)
	if c.Alias != "" {
		s += "." + c.Alias
	}
	return s
}

// ProviderInstance is one instance of a provider configuration: what has settings and a process.
type ProviderInstance struct {
	ProviderConfig
	Key Key
}

func (i ProviderInstance) String() string { return i.ProviderConfig.String() + i.Key.String() }

// Host is the name of a host as names of hosts are compared: in ASCII and small letters, and without the port that is
// meant in any case.
func Host(name string) (string, error) {
	bare, port, _ := strings.Cut(name, ":")
	ascii, err := idna.Lookup.ToASCII(bare)
	if err != nil || ascii == "" {
		return "", fmt.Errorf("%q is not a valid host name", name)
	}
	if port != "" && port != "443" {
		ascii += ":" + port
	}
	return ascii, nil
}
