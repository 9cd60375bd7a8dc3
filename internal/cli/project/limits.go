package project

import (
	"math"
	"strconv"
	"time"

	"github.com/hashicorp/go-version"
	"github.com/lethe-iac/lethe/internal/backend"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cliconfig"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// limitsVariable names the environment variable that changes limits of the language, and
// templateVariable one of them, as OpenTofu names it. docs/limits.md describes both.
const (
	limitsVariable   = "LETHE_LIMITS"
	templateVariable = "TF_TEMPLATE_RECURSION_DEPTH"
)

// ReadLimits takes the limits from the environment.
func ReadLimits(c *base.Call) (limits.Limits, bool) {
	var l limits.Limits
	if depth := c.Getenv(templateVariable); depth != "" {
		n, ok := limits.Amount(depth)
		if !ok {
			c.Bag.Add(diag.Errorf("Invalid "+templateVariable, "The environment variable %s is how deep templates may call templates: a whole number above zero, and not %q.", templateVariable, depth))
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

// unhonoured are environment variables that change what Terraform or OpenTofu does, and not what we do, with the reason. Those
// that only matter to what there is not here (the network, HCP Terraform, tracing) are not among them:
// a user who needs that gets an error.
var unhonoured = []struct{ name, unset, why string }{
	{"TF_WARN_OUTPUT_ERRORS", "0", "errors in outputs stay errors"},
	{"TF_SKIP_PROVIDER_VERIFY", "", "installed providers are always held against the dependency lock file"},
	{"OPENTOFU_STATEFILE_PROVIDER_ADDRESS_TRANSLATION", "1", "the registry hosts of Terraform and OpenTofu stand for one provider"},
	{"TOFU_X_EXPERIMENTAL_RUNTIME", "", "there is one runtime"},
	{"TOFU_CPU_PROFILE", "", "no profile is written"},
	{"TF_IGNORE", "", "no configuration is uploaded, and nothing is logged about files that are left out"},
	{"TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE", "0", cacheKeepsLock},
	{"OTEL_TRACES_EXPORTER", "none", "no traces are written"},
}

// cacheKeepsLock is why nobody has to choose between the plugin cache and the lock file.
const cacheKeepsLock = "packages of the plugin cache get their checksums in the dependency lock file like all others"

// warnUnhonoured says which variables that are set have no effect.
func warnUnhonoured(c *base.Call) {
	for _, v := range unhonoured {
		if set := c.Getenv(v.name); set != "" && set != v.unset {
			c.Bag.Add(diag.Warningf("Environment variable without effect", "%s is set, and has no effect: %s.", v.name, v.why))
		}
	}
}

// intervalVariable is the environment variable that says how many seconds lie between two interim states.
const intervalVariable = "TF_STATE_PERSIST_INTERVAL"

// readInterval reads how often the state is written while an apply is in progress.
func readInterval(c *base.Call) (time.Duration, bool) {
	text := c.Getenv(intervalVariable)
	if text == "" {
		return workspace.DefaultInterim, true
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > math.MaxInt32 {
		c.Bag.Add(diag.Errorf("Invalid "+intervalVariable, "The environment variable %s is %q, and must be a number of seconds. While an apply is in progress, the state is written to its backend at most that often; every 20 seconds if the variable is not set.", intervalVariable, text))
		return 0, false
	}
	return time.Duration(n) * time.Second, true
}

// withoutInit reports whether a backend may be used that init has not set up.
func withoutInit(c *base.Call, s *cliconfig.Settings) (may, ok bool) {
	text := c.Getenv(backend.WithoutInitVariable)
	if text == "" {
		return s.WithoutInit, true
	}
	may, err := strconv.ParseBool(text)
	if err != nil {
		c.Bag.Add(diag.Errorf("Invalid "+backend.WithoutInitVariable, "The environment variable %s is %q, and must be true or false.", backend.WithoutInitVariable, text))
	}
	return may, err == nil
}

// languageVersion returns the version that required_version constraints are compared with: as the environment says, or the
// CLI configuration. It is "" if neither does.
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
		c.Bag.Add(diag.Errorf("Invalid CLI configuration", "%s is %q, and must be a version up to %s, such as 1.11.4: constraints of required_version are compared with it.", what, text, base.Version))
		return "", false
	}
	return claimed.String(), true
}
