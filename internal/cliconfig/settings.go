package cliconfig

import (
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/state"
	"oras.land/oras-go/v2/registry/remote/auth"
)

// Settings is the merged content of CLI configuration files. If two files set the same setting, the later file has
// precedence.
type Settings struct {
	PluginCacheDir  string
	VendorDir       string                       // vendor_dir: a directory that is the only source of installations; "": not set
	DefaultRegistry string                       // default_registry: a host; "": not set
	CacheMayBreak   bool                         // plugin_cache_may_break_dependency_lock_file
	DeferEphemerals bool                         // defer_ephemerals
	CloseTimeout    time.Duration                // close_timeout; 0: not set
	SkipDeposed     bool                         // skip_deposed_provisioners
	ForgetData      state.Forgetting             // forget_data
	WithoutInit     bool                         // backend_without_init
	Language        string                       // language_version; "": not set
	Overrides       map[addr.Provider]string     // dev_overrides: directory of a provider's program
	Sources         []Installation               // provider_installation, in order; nil: not configured
	Installs        bool                         // a provider_installation block exists
	Registries      Registries                   // registry_protocols
	Silence         []string                     // silence: codes of warnings that are not shown
	Hosts           map[string]map[string]string // services by host, in the form of addr.Host
	Credentials     map[string]string            // token by host, in the form of addr.Host
	Helper          []string                     // credentials_helper: name and arguments
	OCI             OCI                          // oci_credentials and oci_default_credentials
	Retries         provider.Retries             // provider_retry
}

// Registries is the registry_protocols block: the settings for requests to registries.
type Registries struct {
	Retries *int          // retry_count, for requests except downloads of packages; nil: not set
	Timeout time.Duration // request_timeout_seconds; 0: not set
}

// Installation is one method to install providers.
type Installation struct {
	Method string // "direct", "filesystem_mirror", "network_mirror", "oci_mirror"
	Path   string // directory or URL, depending on Method
	// Repository returns the repository of a provider in an OCI registry, such as
	// "registry.example.com/providers/random".
	Repository func(addr.Provider) string
	Include    []string
	Exclude    []string
	Retries    *int // download_retry_count; nil: not set
	Trusted    bool // trust_all_hashes
}

// OCI has the credentials for OCI registries.
type OCI struct {
	Access   map[string]OCIAccess // oci_credentials, by host, or by host and the beginning of a repository
	Defaults OCIDefaults
}

// OCIAccess is an oci_credentials block: a user's credentials for an OCI registry.
type OCIAccess struct {
	auth.Credential
	Helper string // the suffix of the name of a credential helper of Docker; "": use Credential
}

// OCIDefaults is the oci_default_credentials block: the sources of credentials for repositories without an
// oci_credentials block.
type OCIDefaults struct {
	Discover *bool    // discover_ambient_credentials; nil: not set, means true
	Files    []string // docker_style_config_files, instead of the usual files; nil: not set
	Helper   string   // default_docker_credential_helper
}
