package cliconfig

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/lethe-iac/lethe/internal/registry"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty/gocty"
)

// Parse adds the content of one file to s, in JSON syntax if filename ends in .json, and in HCL syntax otherwise. It
// reports mistakes as errors or warnings, applies the valid settings in any case, and returns false if it has reported
// an error.
func (s *Settings) Parse(src []byte, filename string, l limits.Limits, bag *diag.Bag) bool {
	var found diag.Bag
	text, origin := src, []int(nil)
	json := strings.HasSuffix(filename, ".json")
	if !json {
		text, origin = modern(src, filename)
	}
	ok := s.parse(text, filename, l, &found)
	for _, d := range found.List() {
		if !json {
			d.Subject, d.Context = written(d.Subject, src, origin), written(d.Context, src, origin)
		}
		bag.Add(diag.Unquoted(d))
	}
	return ok
}

// parse adds the content of one file in the present syntax. It returns false if it has reported an error.
func (s *Settings) parse(src []byte, filename string, l limits.Limits, bag *diag.Bag) bool {
	body, ok := config.ParseBody(filename, src, l, bag)
	if !ok {
		return false
	}
	timeout, forget := "", ""
	arguments := map[string]any{
		"plugin_cache_dir": &s.PluginCacheDir, "vendor_dir": &s.VendorDir, "default_registry": &s.DefaultRegistry,
		"plugin_cache_may_break_dependency_lock_file": &s.CacheMayBreak,
		"defer_ephemerals":                            &s.DeferEphemerals, "skip_deposed_provisioners": &s.SkipDeposed, "close_timeout": &timeout, "forget_data": &forget,
		"backend_without_init": &s.WithoutInit, "language_version": &s.Language,
	}
	schema := &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "provider_installation"}, {Type: "host", LabelNames: []string{"name"}},
		{Type: "credentials", LabelNames: []string{"host"}}, {Type: "credentials_helper", LabelNames: []string{"name"}},
		{Type: "oci_credentials", LabelNames: []string{"repository"}}, {Type: "oci_default_credentials"},
		{Type: "registry_protocols"}, {Type: "provider_retry", LabelNames: []string{"provider"}},
	}}
	for name := range arguments {
		schema.Attributes = append(schema.Attributes, hcl.AttributeSchema{Name: name})
	}
	schema.Attributes = append(schema.Attributes, hcl.AttributeSchema{Name: "silence"})
	content, rest, ds := body.PartialContent(schema)
	ok = bag.HCL(ds)
	nearly(rest, schema, bag)
	if a := content.Attributes["silence"]; a != nil {
		ok = s.silence(a, bag) && ok
		delete(content.Attributes, "silence")
	}
	for name, a := range content.Attributes {
		v, ds := a.Expr.Value(nil)
		if !bag.HCL(ds) {
			ok = false
			continue
		}
		if gocty.FromCtyValue(v, arguments[name]) != nil {
			kind := "true or false"
			if _, text := arguments[name].(*string); text {
				kind = "a string"
			}
			bag.Add(diag.Errorf("Invalid CLI configuration", "The setting %q has to be %s.", name, kind).At(a.Expr.Range()))
			ok = false
		} else if name == "close_timeout" {
			ok = s.closeTimeout(timeout, a, bag) && ok
		} else if name == "forget_data" {
			ok = s.forgetData(forget, a, bag) && ok
		}
	}
	seen := map[string]*hcl.Block{}
	for _, b := range content.Blocks {
		before := seen[b.Type]
		switch seen[b.Type] = b; {
		case before == nil:
		case b.Type == "credentials_helper":
			bag.Add(diag.Errorf("Invalid CLI configuration", "There is already a credentials_helper block, for %q, and Lethe uses only one. Remove one of the blocks.", before.Labels[0]).At(b.DefRange))
			ok = false
		case len(b.Labels) == 0:
			bag.Add(diag.Errorf("Invalid CLI configuration", "There is already a %s block. Merge the blocks.", b.Type).At(b.DefRange))
			ok = false
		}
		ok = s.block(b, bag) && ok
	}
	return ok
}

// nearly warns about unknown settings whose names are similar to a known setting, or begin like it ("plugin_cache"). It
// does not warn about other unknown settings, because they may belong to other programs.
func nearly(rest hcl.Body, known *hcl.BodySchema, bag *diag.Bag) {
	var names []string
	for _, a := range known.Attributes {
		names = append(names, a.Name)
	}
	for _, b := range known.Blocks {
		names = append(names, b.Type)
	}
	warn := func(name string, at hcl.Range) {
		if slices.Contains(names, name) {
			bag.Add(diag.Warningf("Invalid CLI configuration", "The setting %q must be a block, without an equals sign. Otherwise it has no effect.", name).At(at))
		} else if meant := cmp.Or(diag.DidYouMean(name, names), diag.Meant(alike(name, names))); meant != "" {
			bag.Add(diag.Warningf("Invalid CLI configuration", "There is no setting named %q, so this has no effect.%s", name, meant).At(at))
		}
	}
	if body, ok := rest.(*hclsyntax.Body); ok {
		for _, b := range body.Blocks {
			if !slices.Contains(names, b.Type) {
				warn(b.Type, b.TypeRange)
			}
		}
	}
	attrs, _ := rest.JustAttributes()
	for name, a := range attrs {
		warn(name, a.NameRange)
	}
}

// alike returns the first of the known names that begins with name, or with which name begins. It returns "" without
// such a name. Short names do not count.
func alike(name string, known []string) string {
	i := slices.IndexFunc(known, func(k string) bool {
		return len(name) > 5 && len(k) > 5 && (strings.HasPrefix(k, name) || strings.HasPrefix(name, k))
	})
	if i < 0 {
		return ""
	}
	return known[i]
}

func (s *Settings) closeTimeout(text string, a *hcl.Attribute, bag *diag.Bag) bool {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		bag.Add(diag.Errorf("Invalid CLI configuration", "The setting \"close_timeout\" must be a duration such as \"30s\" or \"5m\", not %q. It limits the time for closing one lease.", text).At(a.Range))
		return false
	}
	s.CloseTimeout = d
	return true
}

// silence reads the codes of warnings that must not be shown. It returns false if it has reported an error.
func (s *Settings) silence(a *hcl.Attribute, bag *diag.Bag) bool {
	codes, ok := listOf(a, bag)
	if !ok {
		return false
	}
	if err := new(diag.Silence).Add(codes...); err != nil {
		bag.Add(diag.Errorf("Invalid CLI configuration", "The setting \"silence\" cannot be used: %s.", err).At(a.Expr.Range()))
		return false
	}
	s.Silence = codes
	return true
}

func (s *Settings) forgetData(text string, a *hcl.Attribute, bag *diag.Bag) bool {
	f, err := state.ParseForgetting(text)
	if err != nil {
		bag.Add(diag.Errorf("Invalid CLI configuration", "The setting \"forget_data\" %s.", err).At(a.Range))
		return false
	}
	s.ForgetData = f
	return true
}

func (s *Settings) block(b *hcl.Block, bag *diag.Bag) bool {
	if b.Type == "provider_installation" {
		return s.installation(b, bag)
	}
	attrs, ds := b.Body.JustAttributes()
	switch b.Type {
	case "oci_default_credentials":
		return bag.HCL(ds) && s.ociDefaults(attrs, bag)
	case "registry_protocols":
		return bag.HCL(ds) && s.protocols(attrs, bag)
	}
	name := b.Labels[0]
	switch b.Type {
	case "provider_retry":
		return bag.HCL(ds) && s.retry(b, attrs, bag)
	case "oci_credentials":
		return bag.HCL(ds) && s.ociAccess(b, attrs, bag)
	case "host":
		host, ok := hostOf(b, bag)
		var services map[string]string
		ok = bag.HCL(ds) && only(b, attrs, "services", bag) && ok
		if a := attrs["services"]; a != nil && ok {
			services, ok = stringsOf(a, bag)
			for _, name := range slices.Sorted(maps.Keys(services)) {
				if !registry.Usable(host, services[name]) {
					bag.Add(diag.Errorf("Invalid CLI configuration", "The address of the service %q is not valid. It must begin with https:// or http:// and a host, or be a path on the host, such as \"/v1/\". Two hexadecimal digits must follow each percent sign.", name).At(a.Expr.Range()))
					ok = false
				}
			}
		}
		put(&s.Hosts, host, services)
		return ok
	case "credentials":
		host, ok := hostOf(b, bag)
		ok = bag.HCL(ds) && only(b, attrs, "token", bag) && ok
		if a := attrs["token"]; a != nil && ok {
			var token string
			token, ok = textOf(a, bag)
			put(&s.Credentials, host, token)
		}
		return ok
	}
	s.Helper = []string{name}
	ok := bag.HCL(ds) && only(b, attrs, "args", bag)
	if a := attrs["args"]; a != nil && ok {
		var args []string
		args, ok = listOf(a, bag)
		s.Helper = append(s.Helper, args...)
	}
	return ok
}

// protocols reads the registry_protocols block. It returns false if it has reported an error.
func (s *Settings) protocols(attrs hcl.Attributes, bag *diag.Bag) bool {
	ok := true
	for name, a := range attrs {
		good := false
		switch name {
		case "retry_count":
			s.Registries.Retries, good = countOf(a, 0, bag)
		case "request_timeout_seconds":
			var seconds *int
			if seconds, good = countOf(a, 1, bag); good {
				s.Registries.Timeout = time.Duration(*seconds) * time.Second
			}
		default:
			bag.Add(diag.Errorf("Invalid CLI configuration", "A registry_protocols block takes the arguments retry_count and request_timeout_seconds, not %q.", name).At(a.NameRange))
		}
		ok = ok && good
	}
	return ok
}
