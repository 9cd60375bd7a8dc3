package settings

import (
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-version"
	"github.com/lethe-iac/lethe/internal/backend"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cliconfig"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/experiment"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// limitsVariable is the environment variable for the limits of package limits: maximum sizes, depths and times.
// templateVariable is OpenTofu's variable for the nesting of templates. docs/limits.md describes both variables.
const (
	limitsVariable   = "LETHE_LIMITS"
	templateVariable = "TF_TEMPLATE_RECURSION_DEPTH"
)

// ReadLimits reads the limits from LETHE_LIMITS and TF_TEMPLATE_RECURSION_DEPTH. If the limits include the time of the
// command, ReadLimits sets the time at which the command is stopped. The time counts from the start of the command, not
// from this call. If a value is invalid, ReadLimits adds an error and returns false.
func ReadLimits(c *base.Call) (limits.Limits, bool) {
	var l limits.Limits
	if depth := c.Getenv(templateVariable); depth != "" {
		n, ok := limits.Amount(depth)
		if !ok {
			c.Bag.Add(diag.Errorf("Invalid "+templateVariable, "The environment variable %s limits the nesting of templates. It must be a whole number above zero, not %q.", templateVariable, depth))
			return l, false
		}
		l.Templates = int(min(n, math.MaxInt))
	}
	if err := l.Parse(c.Getenv(limitsVariable)); err != nil {
		c.Bag.Add(diag.Errorf("Invalid "+limitsVariable, "The limits in the environment variable %s cannot be used: %s.", limitsVariable, err))
		return l, false
	}
	l.Since(c.Stops.Began)
	c.EndBy(l.Ends, l.Grace())
	return l, true
}

// unhonoured are environment variables that affect Terraform or OpenTofu but not Lethe, with the reason. Variables of
// features that Lethe does not have are not listed, because a user of such a feature gets an error.
var unhonoured = []unhonouredVariable{
	{"TF_WARN_OUTPUT_ERRORS", "0", "errors in outputs stay errors"},
	{"TF_SKIP_PROVIDER_VERIFY", "", "installed providers are always compared with the dependency lock file"},
	{"OPENTOFU_STATEFILE_PROVIDER_ADDRESS_TRANSLATION", "1", "the registry hosts of Terraform and OpenTofu name the same provider"},
	{"TOFU_X_EXPERIMENTAL_RUNTIME", "", "there is one runtime"},
	{"TOFU_CPU_PROFILE", "", "no profile is written"},
	{"TF_LOG_CLOUD", "", "there is no separate log for services: TF_LOG writes all"},
	{"TF_LOG_STACKS", "", "there are no stacks"},
	{"TF_SCHEMA_PANIC_ON_ERROR", "", "a schema with mistakes is an error"},
	{"TF_IGNORE", "", "no configuration is uploaded, so no files are left out"},
	{"TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE", "0", cacheKeepsLock},
}

// honoured are the names of the variables that affect Lethe. A name that ends with * is a pattern: it matches all names
// that begin with the text before the *.
var honoured = []string{
	"TF_VAR_*", "TF_INPUT", "TF_IN_AUTOMATION", "TF_CLI_ARGS*", "TF_WORKSPACE", "TF_DATA_DIR", "TF_LOG", "TF_LOG_CORE", "TF_LOG_PROVIDER*", "TF_LOG_PATH", "TF_LOG_SDK*", "TF_ENCRYPTION",
	"TF_CLI_CONFIG_FILE", "TERRAFORM_CONFIG", "TF_PLUGIN_CACHE_DIR", "TF_TOKEN_*", "TF_PROVIDER_DOWNLOAD_RETRY", "TF_REGISTRY_DISCOVERY_RETRY",
	"TF_REGISTRY_CLIENT_TIMEOUT", "TF_REATTACH_PROVIDERS", "TF_STATE_PERSIST_INTERVAL", "TF_FORCE_LOCAL_BACKEND", templateVariable,
	"TF_DISABLE_PLUGIN_TLS", "TF_APPEND_USER_AGENT", "TF_CLOUD_*", "TF_HTTP_*", "OPENTOFU_ENFORCE_GPG_VALIDATION", "OPENTOFU_ENFORCE_GPG_EXPIRATION",
	experiment.Variable, experiment.StateStoreVariable, "LETHE_VENDOR_DIR", "LETHE_DEFAULT_REGISTRY", "LETHE_PLAN_KEY", "LETHE_VERSION_KEY", backend.WithoutInitVariable, "LETHE_S3_JOURNAL", "LETHE_PG_JOURNAL",
	config.LanguageVersion, limitsVariable, "LETHE_DEADLINES", "LETHE_KEEPER", "LETHE_SKIP_DEPOSED_PROVISIONERS", "LETHE_COLUMNS", "LETHE_NO_SHORTCUTS",
	"LETHE_CPU_PROFILE", "LETHE_HEAP_PROFILE", forgetVariable, "SSL_CERT_FILE", "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "NO_COLOR",
	"OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_*", "TRACEPARENT",
}

// ours are prefixes: only Terraform, OpenTofu and Lethe read variables whose names begin with them.
var ours = []string{"TF_", "TERRAFORM_", "TOFU_", "OPENTOFU_", "LETHE_"}

// Honoured returns the names of the set variables that affect Lethe. unknown has the names of the set variables that
// begin like a variable of Terraform, OpenTofu or Lethe, but that Lethe does not know. Variables in unhonoured are in
// neither list, because WarnUnhonoured warns of them.
func Honoured(c *base.Call) (used, unknown []string) {
	for _, e := range c.Environ {
		name, value, _ := strings.Cut(e, "=")
		if runtime.GOOS == "windows" {
			name = strings.ToUpper(name)
		}
		matches := func(pattern string) bool {
			begin, any := strings.CutSuffix(pattern, "*")
			return name == pattern || any && strings.HasPrefix(name, begin)
		}
		switch {
		case value == "":
		case slices.ContainsFunc(honoured, matches):
			used = append(used, name)
		case slices.ContainsFunc(unhonoured, func(v unhonouredVariable) bool { return v.name == name }):
		case slices.ContainsFunc(ours, func(begin string) bool { return strings.HasPrefix(name, begin) }):
			unknown = append(unknown, name)
		}
	}
	slices.Sort(used)
	slices.Sort(unknown)
	return slices.Compact(used), slices.Compact(unknown)
}

// unhonouredVariable is an environment variable without effect. unset is a value that means the same as no value. The
// field why completes the sentence "… has no effect:".
type unhonouredVariable struct{ name, unset, why string }

// cacheKeepsLock is the reason why a variable with which users choose between the plugin cache and the lock file has no
// effect.
const cacheKeepsLock = "the dependency lock file always gets checksums for packages of the plugin cache"

// WarnUnhonoured warns of each variable in unhonoured that is set. It does not warn if the value has the same meaning
// as no value.
func WarnUnhonoured(c *base.Call) {
	for _, v := range unhonoured {
		if set := c.Getenv(v.name); set != "" && set != v.unset {
			c.Bag.Add(diag.Warningf("Environment variable without effect", "%s is set but has no effect: %s.", v.name, v.why))
		}
	}
}

// intervalVariable is the environment variable for the number of seconds between two writes of the state during an
// apply.
const intervalVariable = "TF_STATE_PERSIST_INTERVAL"

// readInterval reads the time between two writes of the state during an apply from the environment. Without a setting,
// it returns workspace.DefaultInterim. It reports an error and returns false if the setting is invalid.
func readInterval(c *base.Call) (time.Duration, bool) {
	text := c.Getenv(intervalVariable)
	if text == "" {
		return workspace.DefaultInterim, true
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > math.MaxInt32 {
		c.Bag.Add(diag.Errorf("Invalid "+intervalVariable, "The environment variable %s must be a number of seconds, not %q. It sets how often apply writes the state to its backend: every 20 seconds if it is not set.", intervalVariable, text))
		return 0, false
	}
	return time.Duration(n) * time.Second, true
}

// forgetVariable is the environment variable that selects data sources. The state does not store the results of the
// selected data sources.
const forgetVariable = "LETHE_FORGET_DATA"

// forgetData returns the setting for results of data sources. The environment overrides the CLI configuration. It
// reports an error and returns false if the value in the environment is invalid.
func forgetData(c *base.Call, s *cliconfig.Settings) (state.Forgetting, bool) {
	text := c.Getenv(forgetVariable)
	if text == "" {
		return s.ForgetData, true
	}
	f, err := state.ParseForgetting(text)
	if err != nil {
		c.Bag.Add(diag.Errorf("Invalid "+forgetVariable, "The environment variable %s %s.", forgetVariable, err))
	}
	return f, err == nil
}

// experiments returns the experiments that the environment permits. It returns an error if experiment.Variable names an
// unknown experiment.
func experiments(c *base.Call) (experiment.Set, error) {
	s, err := experiment.Parse(c.Getenv(experiment.Variable))
	if c.Getenv(experiment.StateStoreVariable) != "" {
		s |= experiment.StateStore
	}
	return s, err
}

// withoutInit reports whether a backend may be used without init. The environment overrides the CLI configuration. If
// the value in the environment is invalid, withoutInit reports an error, and ok is false.
func withoutInit(c *base.Call, s *cliconfig.Settings) (may, ok bool) {
	text := c.Getenv(backend.WithoutInitVariable)
	if text == "" {
		return s.WithoutInit, true
	}
	may, err := strconv.ParseBool(text)
	if err != nil {
		c.Bag.Add(diag.Errorf("Invalid "+backend.WithoutInitVariable, "The environment variable %s must be true or false, not %q.", backend.WithoutInitVariable, text))
	}
	return may, err == nil
}

// languageVersion returns the version that is compared with required_version. It is set in the environment or in the
// CLI configuration. Without either, languageVersion returns "". If the version is invalid, or newer than the version
// that Lethe implements, languageVersion reports an error and returns false.
func languageVersion(c *base.Call, s *cliconfig.Settings) (string, bool) {
	text, what := c.Getenv(config.LanguageVersion), "The environment variable "+config.LanguageVersion
	if text == "" {
		text, what = s.Language, "The setting language_version"
	}
	if text == "" {
		return "", true
	}
	claimed, err := version.NewVersion(text)
	if err != nil || claimed.GreaterThan(version.Must(version.NewVersion(base.Version))) {
		c.Bag.Add(diag.Errorf("Invalid CLI configuration", "%s is %q. It must be a version up to %s, such as 1.11.4, because required_version is compared with it.", what, text, base.Version))
		return "", false
	}
	return claimed.String(), true
}
