package addr

import (
	"cmp"
	"fmt"
	"strings"

	"golang.org/x/net/idna"
)

// Hosts and namespaces with a special meaning.
const (
	DefaultHost      = "registry.opentofu.org" // OpenTofu's registry, the host of source addresses without a host
	TerraformHost    = "registry.terraform.io" // Terraform's registry, which has the same providers
	BuiltinHost      = "terraform.io"          // the host of built-in providers
	BuiltinNamespace = "builtin"               // the namespace of built-in providers
	DefaultNamespace = "hashicorp"             // the namespace of source addresses without a namespace
	LegacyNamespace  = "-"                     // the namespace in addresses from a time without namespaces
)

// Provider is the source address of a provider.
type Provider struct{ Host, Namespace, Type string }

// Builtin returns the built-in provider with this name.
func Builtin(name string) Provider { return Provider{BuiltinHost, BuiltinNamespace, name} }

// Published returns the address of the built-in provider lethe in the default registry.
func Published() Provider { return Provider{DefaultHost, "lethe-iac", "lethe"} }

// Default returns the provider for a local name that required_providers does not declare: the built-in provider for the
// names terraform and lethe, and otherwise the provider with this name in the default host and namespace.
func Default(name string) Provider {
	if name == "terraform" || name == "lethe" {
		return Builtin(name)
	}
	return Provider{DefaultHost, DefaultNamespace, name}
}

// IsBuiltin reports whether p is a provider that is part of Lethe's program.
func (p Provider) IsBuiltin() bool {
	return p.Host == BuiltinHost && p.Namespace == BuiltinNamespace || p.IsPublished()
}

// IsPublished reports whether p is the built-in provider lethe under its address in the registries. Terraform and
// OpenTofu use it under this address as a plugin.
func (p Provider) IsPublished() bool { return p.Canon() == Published() }

// IsZero reports whether p is the zero value.
func (p Provider) IsZero() bool { return p == Provider{} }

// Canon returns p in a form for comparisons: the host of OpenTofu's registry replaces the host of Terraform's registry,
// and in this registry the namespace hashicorp replaces "-". Two addresses with the same result of Canon mean the same
// provider, unless a configuration names one of the hosts explicitly.
func (p Provider) Canon() Provider {
	if p.Host == TerraformHost {
		p.Host = DefaultHost
	}
	if p.Namespace == LegacyNamespace && p.Host == DefaultHost {
		p.Namespace = DefaultNamespace
	}
	return p
}

// Counterpart exchanges the hosts of the registries of Terraform and OpenTofu in p. It returns p unchanged and false if
// p has another host.
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

// String returns "host/namespace/type".
func (p Provider) String() string { return p.Host + "/" + p.Namespace + "/" + p.Type }

// ForDisplay returns the address for messages. It omits the host if p is in the registry of Terraform or OpenTofu,
// because both have the same providers.
func (p Provider) ForDisplay() string {
	if p.Host == DefaultHost || p.Host == TerraformHost {
		return p.Namespace + "/" + p.Type
	}
	return p.String()
}

// Compare orders providers by host, namespace and type.
func (p Provider) Compare(o Provider) int {
	return cmp.Or(strings.Compare(p.Host, o.Host), strings.Compare(p.Namespace, o.Namespace), strings.Compare(p.Type, o.Type))
}

// ParseProvider parses a source address: "type", "namespace/type" or "host/namespace/type". A missing host is
// registry.opentofu.org, and a missing namespace is hashicorp. All parts of the result are in small letters. More parts
// and invalid parts are errors.
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
	if strings.Contains(host, "xn--") { // convert punycode to Unicode, because both forms of a host name must give one address
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

// ProviderConfig is one configuration of a provider in a module: the default configuration, or an alias.
type ProviderConfig struct {
	Module   Module
	Provider Provider
	Alias    string // "": the default configuration
}

// Canon returns the address with the provider's canonical address: equal results name the same configuration, possibly
// with different registries.
func (c ProviderConfig) Canon() ProviderConfig {
	c.Provider = c.Provider.Canon()
	return c
}

// String returns the address as in state files: `module.a.provider["host/ns/type"].alias`.
func (c ProviderConfig) String() string {
	s := join(c.Module.String(), `provider["`+c.Provider.String()+`"]`)
	if c.Alias != "" {
		s += "." + c.Alias
	}
	return s
}

// ProviderInstance is one instance of a provider configuration. Each instance has separate settings and a separate
// process.
type ProviderInstance struct {
	ProviderConfig
	Key Key
}

func (i ProviderInstance) String() string { return i.ProviderConfig.String() + i.Key.String() }

// Host returns a host name in the form for comparisons: in ASCII (punycode) and small letters, without the default port
// 443. It returns an error if the name is not a valid host name.
func Host(name string) (string, error) {
	base, port, _ := strings.Cut(name, ":")
	ascii, err := idna.Lookup.ToASCII(base)
	if err != nil || ascii == "" {
		return "", fmt.Errorf("%q is not a valid host name", name)
	}
	if port != "" && port != "443" {
		ascii += ":" + port
	}
	return ascii, nil
}
