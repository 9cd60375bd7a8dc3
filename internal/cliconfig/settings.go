package cliconfig

import (
	"fmt"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/lethe-iac/lethe/internal/registry"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/gocty"
	"oras.land/oras-go/v2/registry/remote/auth"
)

// Settings is the merged content of CLI configuration files. If two files set the same setting, the later file has
// precedence.
type Settings struct {
	PluginCacheDir  string
	VendorDir       string                       // vendor_dir: the only source of installations; "": not set
	DefaultRegistry string                       // default_registry: a host; "": not set
	CacheMayBreak   bool                         // plugin_cache_may_break_dependency_lock_file
	DeferEphemerals bool                         // defer_ephemerals
	CloseTimeout    time.Duration                // close_timeout; 0: not set
	SkipDeposed     bool                         // skip_deposed_provisioners
	ForgetData      state.Forgetting             // forget_data
	WithoutInit     bool                         // backend_without_init
	Language        string                       // language_version; "": not set
	Overrides       map[addr.Provider]string     // dev_overrides: directory of the executable
	Sources         []Installation               // provider_installation, in order; nil: not configured
	Installs        bool                         // a provider_installation block exists
	RegistryRetries *int                         // retry_count in registry_protocols, for requests except downloads of packages; nil: not set
	RegistryTimeout time.Duration                // request_timeout_seconds in registry_protocols; 0: not set
	Hosts           map[string]map[string]string // services by host, in the form of addr.Host
	Credentials     map[string]string            // token by host, in the form of addr.Host
	Helper          []string                     // credentials_helper: name and arguments
	OCI             map[string]OCIAccess         // oci_credentials by host, or by host and the beginning of a repository
	OCIDefaults     OCIDefaults
}

// Installation is one method to install providers.
type Installation struct {
	Method string // "direct", "filesystem_mirror", "network_mirror", "oci_mirror"
	Path   string // directory, or URL
	// Repository returns the repository of a provider in an OCI registry, such as
	// "registry.example.com/providers/random".
	Repository func(addr.Provider) string
	Include    []string
	Exclude    []string
	Retries    *int // download_retry_count; nil: not set
	Trusted    bool // trust_all_hashes
}

// Parse adds the content of one file. The suffix of its name determines the syntax. Parse reports mistakes, returns
// false if one is an error, and applies the valid settings anyway.
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

// parse adds the content of one file in the present syntax.
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
		{Type: "registry_protocols"},
	}}
	for name := range arguments {
		schema.Attributes = append(schema.Attributes, hcl.AttributeSchema{Name: name})
	}
	content, rest, ds := body.PartialContent(schema)
	ok = bag.HCL(ds)
	nearly(rest, schema, bag)
	for name, a := range content.Attributes {
		v, ds := a.Expr.Value(nil)
		if !bag.HCL(ds) {
			continue
		}
		if gocty.FromCtyValue(v, arguments[name]) != nil {
			kind := "true or false"
			if _, text := arguments[name].(*string); text {
				kind = "a string"
			}
			bag.Add(diag.Errorf("Invalid CLI configuration", "The setting %q has to be %s.", name, kind).At(a.Expr.Range()))
		} else if name == "close_timeout" {
			s.closeTimeout(timeout, a, bag)
		} else if name == "forget_data" {
			s.forgetData(forget, a, bag)
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

// nearly warns about unknown settings whose names are similar to a known setting. Other unknown settings may belong to
// other programs.
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
		} else if meant := diag.DidYouMean(name, names); meant != "" {
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

func (s *Settings) closeTimeout(text string, a *hcl.Attribute, bag *diag.Bag) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		bag.Add(diag.Errorf("Invalid CLI configuration", "The setting \"close_timeout\" must be a duration such as \"30s\" or \"5m\", not %q. It limits the time for closing one lease.", text).At(a.Range))
		return
	}
	s.CloseTimeout = d
}

func (s *Settings) forgetData(text string, a *hcl.Attribute, bag *diag.Bag) {
	f, err := state.ParseForgetting(text)
	if err != nil {
		bag.Add(diag.Errorf("Invalid CLI configuration", "The setting \"forget_data\" %s.", err).At(a.Range))
		return
	}
	s.ForgetData = f
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

// protocols reads the registry_protocols block.
func (s *Settings) protocols(attrs hcl.Attributes, bag *diag.Bag) bool {
	ok := true
	for name, a := range attrs {
		good := false
		switch name {
		case "retry_count":
			s.RegistryRetries, good = countOf(a, 0, bag)
		case "request_timeout_seconds":
			var seconds *int
			if seconds, good = countOf(a, 1, bag); good {
				s.RegistryTimeout = time.Duration(*seconds) * time.Second
			}
		default:
			bag.Add(diag.Errorf("Invalid CLI configuration", "A registry_protocols block takes the arguments retry_count and request_timeout_seconds, not %q.", name).At(a.NameRange))
		}
		ok = ok && good
	}
	return ok
}

// hostOf returns the host in the label of a block, in the form of addr.Host.
func hostOf(b *hcl.Block, bag *diag.Bag) (string, bool) {
	host, err := addr.Host(b.Labels[0])
	if err != nil {
		bag.Add(diag.Errorf("Invalid CLI configuration", "The label of a %s block is the name of a host, such as \"registry.example.com\", not %q.", b.Type, b.Labels[0]).At(b.DefRange))
	}
	return host, err == nil
}

// only reports all arguments of a block except the one called name.
func only(b *hcl.Block, attrs hcl.Attributes, name string, bag *diag.Bag) bool {
	ok := true
	for other, a := range attrs {
		if other != name {
			bag.Add(diag.Errorf("Invalid CLI configuration", "A %s block takes the argument %q, not %q.", b.Type, name, other).At(a.NameRange))
			ok = false
		}
	}
	return ok
}

func put[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}

func isText(v cty.Value) bool { return v.Type() == cty.String && !v.IsNull() && v.IsKnown() }

// elements returns the elements of an argument's value, and false if the value has no elements.
func elements(a *hcl.Attribute, bag *diag.Bag) (iter.Seq2[cty.Value, cty.Value], bool) {
	v, ds := a.Expr.Value(nil)
	if !bag.HCL(ds) || v.IsNull() || !v.CanIterateElements() {
		return func(func(k, e cty.Value) bool) {}, false
	}
	return v.Elements(), true
}

// refuse reports that the argument must be of the given kind.
func refuse(a *hcl.Attribute, kind string, bag *diag.Bag) {
	bag.Add(diag.Errorf("Invalid CLI configuration", "The argument %q has to be %s.", a.Name, kind).At(a.Expr.Range()))
}

// textOf returns the string value of an argument.
func textOf(a *hcl.Attribute, bag *diag.Bag) (string, bool) {
	v, ds := a.Expr.Value(nil)
	if v, err := convert.Convert(v, cty.String); err == nil && isText(v) && !ds.HasErrors() {
		return v.AsString(), true
	}
	refuse(a, "a string", bag)
	return "", false
}

// flagOf returns the boolean value of an argument.
func flagOf(a *hcl.Attribute, bag *diag.Bag) (yes, ok bool) {
	v, _ := a.Expr.Value(nil)
	if ok = gocty.FromCtyValue(v, &yes) == nil; !ok {
		refuse(a, "true or false", bag)
	}
	return yes, ok
}

// countOf returns the integer value of an argument, which must be at least least.
func countOf(a *hcl.Attribute, least int, bag *diag.Bag) (*int, bool) {
	v, ds := a.Expr.Value(nil)
	var n int
	if v, err := convert.Convert(v, cty.Number); err == nil && !ds.HasErrors() && gocty.FromCtyValue(v, &n) == nil && n >= least {
		return &n, true
	}
	refuse(a, fmt.Sprintf("a whole number, %d or more", least), bag)
	return nil, false
}

// stringsOf returns the strings in an object.
func stringsOf(a *hcl.Attribute, bag *diag.Bag) (map[string]string, bool) {
	all, ok := elements(a, bag)
	out := map[string]string{}
	for k, e := range all {
		if e.Type().IsObjectType() {
			continue // settings of the service login.v1
		}
		if ok = ok && isText(e) && k.Type() == cty.String; ok {
			out[k.AsString()] = e.AsString()
		}
	}
	if !ok {
		refuse(a, "an object of strings, such as { name = \"value\" }", bag)
	}
	return out, ok
}

// listOf returns the strings in a list.
func listOf(a *hcl.Attribute, bag *diag.Bag) (out []string, ok bool) {
	all, ok := elements(a, bag)
	for k, e := range all {
		if ok = ok && isText(e) && k.Type() == cty.Number; ok {
			out = append(out, e.AsString())
		}
	}
	if !ok {
		refuse(a, "a list of strings, such as [\"value\"]", bag)
	}
	return out, ok
}

// place maps an installation method to the argument that names its directory or URL.
var place = map[string]string{"filesystem_mirror": "path", "network_mirror": "url"}

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
		fromServer := m.Type == "direct" || m.Type == "network_mirror"
		for name, a := range attrs {
			good := true
			switch {
			case name == "include":
				in.Include, good = listOf(a, bag)
			case name == "exclude":
				in.Exclude, good = listOf(a, bag)
			case name == "repository_template" && m.Type == "oci_mirror":
				var text string
				if text, good = textOf(a, bag); !good {
					break
				}
				var err error
				if in.Repository, err = RepositoryTemplate(text); err != nil {
					bag.Add(diag.Errorf("Invalid provider installation method", "The argument repository_template is not valid: %s.", err).At(a.Expr.Range()))
					good = false
				}
			case name == place[m.Type]:
				if in.Path, good = textOf(a, bag); !good {
					break
				}
				switch {
				case m.Type == "network_mirror":
					if _, err := registry.MirrorURL(in.Path); err != nil {
						bag.Add(diag.Errorf("Invalid provider installation method", "The URL of the network mirror is not valid: %s.", err).At(a.Expr.Range()))
						good = false
					}
				case in.Path == "":
					refuse(a, "the name of a directory", bag)
					good = false
				}
			case name == "download_retry_count" && fromServer:
				in.Retries, good = countOf(a, 0, bag)
			case name == "trust_all_hashes" && m.Type == "network_mirror":
				in.Trusted, good = flagOf(a, bag)
			default:
				bag.Add(diag.Errorf("Invalid provider installation method", "The %s block takes no argument %q.", m.Type, name).At(a.NameRange))
				ok = false
			}
			ok = ok && good
		}
		for _, pattern := range slices.Concat(in.Include, in.Exclude) {
			if !selects(pattern) {
				bag.Add(diag.Errorf("Invalid provider installation method", "The pattern %q selects no provider. A pattern is an address such as \"registry.example.com/acme/net\", in which \"*\" matches any part.", pattern).At(m.DefRange))
				ok = false
			}
		}
		if name := place[m.Type]; name != "" && attrs[name] == nil {
			bag.Add(diag.Errorf("Invalid provider installation method", "A %s block needs the argument %s, the location of the providers.", m.Type, name).At(m.DefRange))
			ok = false
		}
		switch {
		case m.Type != "oci_mirror":
		case attrs["repository_template"] == nil:
			bag.Add(diag.Errorf("Invalid provider installation method", "An oci_mirror block needs the argument repository_template, the location of the providers.").At(m.DefRange))
			ok = false
		case in.Repository != nil:
			ok = in.distinct(attrs["repository_template"], bag) && ok
		}
		s.Sources = append(s.Sources, in)
	}
	return ok
}

// overrides reads dev_overrides: directories of executables by provider.
func (s *Settings) overrides(a *hcl.Attribute, bag *diag.Bag) bool {
	entries, ds := hcl.ExprMap(a.Expr)
	if all, more := hcl.ExprList(a.Expr); ds.HasErrors() && !more.HasErrors() { // in JSON syntax blocks are a list of objects
		ds = nil
		for _, one := range all {
			pairs, problems := hcl.ExprMap(one)
			entries, ds = append(entries, pairs...), append(ds, problems...)
		}
	}
	ok := bag.HCL(ds)
	for _, e := range entries {
		k, ds := e.Key.Value(nil)
		dir, more := e.Value.Value(nil)
		if ds = append(ds, more...); ds.HasErrors() {
			ok = bag.HCL(ds) && ok
			continue
		}
		wrong := func(at hcl.Range, format string, args ...any) {
			bag.Add(diag.Errorf("Invalid provider in dev_overrides", format, args...).At(at))
			ok = false
		}
		if !isText(k) {
			wrong(e.Key.Range(), "The names in dev_overrides are source addresses of providers, such as \"acme/net\".")
			continue
		}
		p, err := addr.ParseProvider(k.AsString())
		switch {
		case err != nil:
			wrong(e.Key.Range(), "%q is not the source address of a provider, such as \"acme/net\": %s.", k.AsString(), err)
		case !isText(dir) || dir.AsString() == "":
			wrong(e.Value.Range(), "The entry for %q has to be a directory with the executable of the provider.", k.AsString())
		default:
			put(&s.Overrides, p, dir.AsString())
		}
	}
	return ok
}

// distinct reports the template of an oci_mirror block if it maps several selected providers to one repository.
func (in *Installation) distinct(a *hcl.Attribute, bag *diag.Bag) bool {
	ok := true
	for _, x := range []struct {
		part  string
		other addr.Provider
		of    func(addr.Provider) string
	}{
		{"namespace", addr.Provider{Host: "a.example", Namespace: "b", Type: "a"}, func(p addr.Provider) string { return p.Namespace }},
		{"type", addr.Provider{Host: "a.example", Namespace: "a", Type: "b"}, func(p addr.Provider) string { return p.Type }},
	} {
		selected := map[string]bool{}
		for _, pattern := range in.Include {
			p, _ := addr.ParseProvider(anyFor(pattern))
			selected[x.of(p)] = true
		}
		one := len(selected) == 1 && !selected["any"]
		if !one && in.Repository(x.other) == in.Repository(addr.Provider{Host: "a.example", Namespace: "a", Type: "a"}) {
			bag.Add(diag.Errorf("Invalid provider installation method", "Several providers would share one repository. Add ${%s} to repository_template, or select one %s with include.", x.part, x.part).At(a.Expr.Range()))
			ok = false
		}
	}
	return ok
}

// OCIAccess is an oci_credentials block: a user's credentials for an OCI registry.
type OCIAccess struct {
	auth.Credential
	Helper string // a credential helper of Docker, by the suffix of its name; "": use Credential
}

// OCIDefaults is the oci_default_credentials block: the sources of credentials for repositories without an
// oci_credentials block.
type OCIDefaults struct {
	Discover *bool    // discover_ambient_credentials; nil: not set, means true
	Files    []string // docker_style_config_files, instead of the usual files; nil: not set
	Helper   string   // default_docker_credential_helper
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// ociAccess reads an oci_credentials block.
func (s *Settings) ociAccess(b *hcl.Block, attrs hcl.Attributes, bag *diag.Bag) bool {
	const ways = "username and password, access_token and refresh_token, or docker_credentials_helper"
	var x OCIAccess
	texts := map[string]*string{"username": &x.Username, "password": &x.Password, "access_token": &x.AccessToken, "refresh_token": &x.RefreshToken, "docker_credentials_helper": &x.Helper}
	ok := true
	for name, a := range attrs {
		if texts[name] == nil {
			bag.Add(diag.Errorf("Invalid CLI configuration", "An oci_credentials block takes the arguments %s, not %q.", ways, name).At(a.NameRange))
			ok = false
			continue
		}
		var good bool
		*texts[name], good = textOf(a, bag)
		ok = ok && good
	}
	name := b.Labels[0]
	host, path, deep := strings.Cut(name, "/")
	_, err := addr.Host(host)
	basic, token, helper := x.Username+x.Password != "", x.AccessToken+x.RefreshToken != "", x.Helper != ""
	report := func(format string, args ...any) {
		bag.Add(diag.Errorf("Invalid CLI configuration", format, args...).At(b.DefRange))
		ok = false
	}
	switch {
	case err != nil || deep && path == "" || strings.Contains(name, "://"):
		report("The label of an oci_credentials block is a host, or a host and the beginning of a repository, such as \"registry.example.com/providers\", not %q.", name)
	case !ok:
	case !basic && !token && !helper, basic && token, basic && helper, token && helper:
		report("The oci_credentials block for %q needs exactly one of these: %s.", name, ways)
	case basic && (x.Username == "" || x.Password == ""):
		report("The oci_credentials block for %q needs both username and password.", name)
	case helper && deep:
		report("A credential helper of Docker supports hosts, not repositories. Set docker_credentials_helper in a block for the whole host, %q.", host)
	}
	put(&s.OCI, name, x)
	return ok
}

// ociDefaults reads the oci_default_credentials block.
func (s *Settings) ociDefaults(attrs hcl.Attributes, bag *diag.Bag) bool {
	ok := true
	for name, a := range attrs {
		good := false
		switch name {
		case "discover_ambient_credentials":
			var yes bool
			if yes, good = flagOf(a, bag); good {
				s.OCIDefaults.Discover = &yes
			}
		case "docker_style_config_files":
			var files []string
			files, good = listOf(a, bag)
			s.OCIDefaults.Files = append([]string{}, files...)
			for _, f := range files {
				if !exists(f) {
					bag.Add(diag.Warningf("Invalid CLI configuration", "The file %q for credentials of OCI registries does not exist.", f).At(a.Expr.Range()))
				}
			}
		case "default_docker_credential_helper":
			s.OCIDefaults.Helper, good = textOf(a, bag)
		default:
			bag.Add(diag.Errorf("Invalid CLI configuration", "An oci_default_credentials block takes the arguments discover_ambient_credentials, docker_style_config_files and default_docker_credential_helper, not %q.", name).At(a.NameRange))
		}
		ok = ok && good
	}
	return ok
}

// selects reports whether a pattern of include or exclude can select a provider.
func selects(pattern string) bool {
	_, err := addr.ParseProvider(anyFor(pattern))
	return err == nil
}

// anyFor returns a pattern with a valid name in the place of each "*".
func anyFor(pattern string) string {
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		if part == "*" {
			parts[i] = "any.test"
			if i > len(parts)-3 {
				parts[i] = "any"
			}
		}
	}
	return strings.Join(parts, "/")
}
