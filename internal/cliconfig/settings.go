package cliconfig

import (
	"github.com/lethe-iac/lethe/internal/limits"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/zclconf/go-cty/cty"
)

// Settings are the contents of CLI configuration files, merged: of two files that say the same thing,
// the later one counts.
type Settings struct {
	PluginCacheDir  string
	CacheMayBreak   bool                     // plugin_cache_may_break_dependency_lock_file
	DeferEphemerals bool                     // defer_ephemerals
	CloseTimeout    time.Duration            // close_timeout; 0: not set
	SkipDeposed     bool                     // skip_deposed_provisioners
	Overrides       map[addr.Provider]string // dev_overrides: directory of the executable
	Sources         []Installation           // provider_installation, in order; nil: not configured
	Installs        bool                     // a provider_installation block was there
	Hosts           map[string]map[string]string
	Credentials     map[string]string // token by host
	Helper          []string          // credentials_helper: name and arguments
}

// Installation is one way to get providers.
type Installation struct {
	Method  string // "direct", "filesystem_mirror", "network_mirror", "oci_mirror"
	Path    string // directory, or URL
	Include []string
	Exclude []string
}

// Parse adds the contents of one file, whose name says in which syntax it is. What is wrong with it
// goes to the bag; what can be understood counts all the same.
func (s *Settings) Parse(src []byte, filename string, l limits.Limits, bag *diag.Bag) bool {
	if !strings.HasSuffix(filename, ".json") {
		src = modern(src, filename)
	}
	body, ok := config.ParseBody(filename, src, l, bag)
	if !ok {
		return false
	}
	content, _, ds := body.PartialContent(&hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "plugin_cache_dir"}, {Name: "plugin_cache_may_break_dependency_lock_file"}, {Name: "defer_ephemerals"}, {Name: "close_timeout"}, {Name: "skip_deposed_provisioners"}},
		Blocks: []hcl.BlockHeaderSchema{
			{Type: "provider_installation"}, {Type: "host", LabelNames: []string{"name"}},
			{Type: "credentials", LabelNames: []string{"host"}}, {Type: "credentials_helper", LabelNames: []string{"name"}},
		},
	})
	ok = bag.HCL(ds)
	s.attributes(content.Attributes, bag)
	for _, b := range content.Blocks {
		ok = s.block(b, bag) && ok
	}
	return ok
}

func (s *Settings) attributes(attrs hcl.Attributes, bag *diag.Bag) {
	for name, a := range attrs {
		v, ds := a.Expr.Value(nil)
		if !bag.HCL(ds) {
			continue
		}
		switch {
		case name == "plugin_cache_dir" && v.Type() == cty.String && !v.IsNull():
			s.PluginCacheDir = v.AsString()
		case name == "plugin_cache_may_break_dependency_lock_file" && v.Type() == cty.Bool && !v.IsNull():
			s.CacheMayBreak = v.True()
		case name == "defer_ephemerals" && v.Type() == cty.Bool && !v.IsNull():
			s.DeferEphemerals = v.True()
		case name == "skip_deposed_provisioners" && v.Type() == cty.Bool && !v.IsNull():
			s.SkipDeposed = v.True()
		case name == "close_timeout" && v.Type() == cty.String && !v.IsNull():
			d, err := time.ParseDuration(v.AsString())
			if err != nil || d <= 0 {
				bag.Add(diag.Errorf("Invalid CLI configuration", "The setting \"close_timeout\" is how long closing one lease may take, such as \"30s\" or \"5m\", and not %q.", v.AsString()).At(a.Range))
				continue
			}
			s.CloseTimeout = d
		default:
			bag.Add(diag.Errorf("Invalid CLI configuration", "The setting %q has a value of the wrong type.", name).At(a.Range))
		}
	}
}

func (s *Settings) block(b *hcl.Block, bag *diag.Bag) bool {
	switch b.Type {
	case "provider_installation":
		return s.installation(b, bag)
	case "host":
		m, ok := stringsOf(b.Body, "services", bag)
		if s.Hosts == nil {
			s.Hosts = map[string]map[string]string{}
		}
		s.Hosts[b.Labels[0]] = m
		return ok
	case "credentials":
		attrs, ds := b.Body.JustAttributes()
		if s.Credentials == nil {
			s.Credentials = map[string]string{}
		}
		if a := attrs["token"]; a != nil {
			if v, _ := a.Expr.Value(nil); v.Type() == cty.String && !v.IsNull() && v.IsKnown() {
				s.Credentials[b.Labels[0]] = v.AsString()
			}
		}
		return bag.HCL(ds)
	case "credentials_helper":
		s.Helper = []string{b.Labels[0]}
		if attrs, _ := b.Body.JustAttributes(); attrs["args"] != nil {
			list, _ := listOf(attrs["args"], bag)
			s.Helper = append(s.Helper, list...)
		}
	}
	return true
}

// stringsOf reads an object attribute of strings.
func stringsOf(body hcl.Body, name string, bag *diag.Bag) (map[string]string, bool) {
	attrs, ds := body.JustAttributes()
	if !bag.HCL(ds) || attrs[name] == nil {
		return nil, !ds.HasErrors()
	}
	v, ds := attrs[name].Expr.Value(nil)
	if !bag.HCL(ds) || !v.CanIterateElements() {
		return nil, false
	}
	out := map[string]string{}
	for it := v.ElementIterator(); it.Next(); {
		k, e := it.Element()
		if e.Type() == cty.String && !e.IsNull() {
			out[k.AsString()] = e.AsString()
		}
	}
	return out, true
}

func listOf(a *hcl.Attribute, bag *diag.Bag) ([]string, bool) {
	v, ds := a.Expr.Value(nil)
	if !bag.HCL(ds) {
		return nil, false
	}
	var out []string
	if !v.IsNull() && v.CanIterateElements() {
		for it := v.ElementIterator(); it.Next(); {
			if _, e := it.Element(); e.Type() == cty.String && !e.IsNull() {
				out = append(out, e.AsString())
			}
		}
	}
	return out, true
}

func (s *Settings) installation(b *hcl.Block, bag *diag.Bag) bool {
	s.Installs = true
	methods := []hcl.BlockHeaderSchema{{Type: "direct"}, {Type: "filesystem_mirror"}, {Type: "network_mirror"}, {Type: "oci_mirror"}}
	content, ds := b.Body.Content(&hcl.BodySchema{Blocks: methods, Attributes: []hcl.AttributeSchema{{Name: "dev_overrides"}}})
	ok := bag.HCL(ds)
	if a := content.Attributes["dev_overrides"]; a != nil {
		ok = s.overrides(a, bag) && ok
	}
	for _, m := range content.Blocks {
		in := Installation{Method: m.Type}
		attrs, ds := m.Body.JustAttributes()
		ok = bag.HCL(ds) && ok
		for name, a := range attrs {
			switch name {
			case "include":
				in.Include, _ = listOf(a, bag)
			case "exclude":
				in.Exclude, _ = listOf(a, bag)
			case "path", "url", "repository_template":
				if v, _ := a.Expr.Value(nil); v.Type() == cty.String && !v.IsNull() && v.IsKnown() {
					in.Path = v.AsString()
				}
			case "download_retry_count", "trust_all_hashes":
			default:
				bag.Add(diag.Errorf("Invalid provider installation method", "A %s block takes no argument %q.", m.Type, name).At(a.NameRange))
				ok = false
			}
		}
		s.Sources = append(s.Sources, in)
	}
	return ok
}

// overrides reads dev_overrides: directories of executables by provider.
func (s *Settings) overrides(a *hcl.Attribute, bag *diag.Bag) bool {
	v, ds := a.Expr.Value(nil)
	if !bag.HCL(ds) || v.IsNull() || !v.CanIterateElements() {
		return false
	}
	ok := true
	for it := v.ElementIterator(); it.Next(); {
		k, dir := it.Element()
		p, err := addr.ParseProvider(k.AsString())
		if err != nil || dir.IsNull() || dir.Type() != cty.String {
			bag.Add(diag.Errorf("Invalid provider in dev_overrides", "The entry %q is not a provider source address with a directory.", k.AsString()).At(a.Range))
			ok = false
			continue
		}
		if s.Overrides == nil {
			s.Overrides = map[addr.Provider]string{}
		}
		s.Overrides[p] = dir.AsString()
	}
	return ok
}
