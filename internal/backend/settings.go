package backend

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/remotestore"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// settings are a kind of store with the values of its settings.
type settings struct {
	driver store.Driver
	config cty.Value // the values, as an object of the driver's schema
	// provider and version belong to the provider of a state store; they are zero for a backend.
	provider addr.Provider
	version  string
	// ephemeral are the paths of settings that are not recorded: secrets from ephemeral variables.
	ephemeral []cty.Path
	// unrecorded has the names of the settings that init did not record and that have no value now.
	unrecorded []string
}

// kind returns a text that identifies the kind of store: the type and, for a state store, the provider.
func (s settings) kind() string {
	if s.provider.IsZero() {
		return s.driver.Name
	}
	return s.driver.Name + " of " + s.provider.Canon().String()
}

// recorded returns the values that init records: the ephemeral settings are null.
func (s settings) recorded() cty.Value {
	v, err := cty.Transform(s.config, func(path cty.Path, v cty.Value) (cty.Value, error) {
		if slices.ContainsFunc(s.ephemeral, path.Equals) {
			return cty.NullVal(v.Type()), nil
		}
		return v, nil
	})
	if err != nil {
		panic(err) // cannot fail, because the function returns no error
	}
	return v
}

// with returns the recorded settings s with the values that the ephemeral settings have in declared. If the kinds of
// store differ, it returns s.
func (s settings) with(declared settings) settings {
	if s.driver.Name == "" || s.kind() != declared.kind() || len(declared.ephemeral) == 0 {
		return s
	}
	attrs := s.config.AsValueMap()
	for _, name := range declared.ephemerals() {
		attrs[name] = declared.config.GetAttr(name)
	}
	s.config, s.ephemeral, s.unrecorded = cty.ObjectVal(attrs), declared.ephemeral, nil
	return s
}

// implied returns the settings of a directory without a backend block: state files in the directory.
func implied() settings {
	none, err := store.LocalDriver.Schema.Coerce(cty.EmptyObjectVal)
	if err != nil {
		panic(err) // cannot fail, because the schema requires no setting
	}
	return settings{driver: store.LocalDriver, config: none}
}

// ephemerals returns the names of the ephemeral settings.
func (s settings) ephemerals() (names []string) {
	for _, path := range s.ephemeral {
		names = append(names, path[0].(cty.GetAttrStep).Name)
	}
	return names
}

// fingerprint returns a digest of the recorded values, by which a changed backend block is recognized.
func (s settings) fingerprint() string {
	text, err := ctyjson.Marshal(s.recorded(), s.config.Type())
	if err != nil {
		panic(err) // cannot fail, because the value is known and has the type of the schema
	}
	sum := sha256.Sum256(append([]byte(s.kind()+"\n"), text...))
	return hex.EncodeToString(sum[:16])
}

// same reports whether two settings have the same kind of store and the same values, apart from ephemeral settings.
func (s settings) same(as settings) bool {
	return s.kind() == as.kind() && s.recorded().RawEquals(as.recorded())
}

// differ returns the names of the settings whose values differ, sorted. It returns nil if the kinds of store differ.
func (s settings) differ(other settings) (names []string) {
	if s.kind() != other.kind() {
		return nil
	}
	for name := range s.driver.Schema.Type().AttributeTypes() {
		if !s.config.GetAttr(name).RawEquals(other.config.GetAttr(name)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// driver returns the kind of store with that name. If the name is unknown, driver adds an error and returns false.
func driver(name string, at diag.Range, bag *diag.Bag) (store.Driver, bool) {
	d, ok := find(name)
	if !ok {
		bag.Add(noDriver(name).At(at))
	}
	return d, ok
}

// find returns the kind of store with that name, and false if none exists. The name "cloud" means the store of a cloud
// block, which no backend block can name.
func find(name string) (store.Driver, bool) {
	if name == remotestore.Cloud.Name {
		return remotestore.Cloud, true
	}
	return Drivers.Find(name)
}

// badBackend is the title of errors about the settings of a backend.
const badBackend = "Invalid backend configuration"

func noDriver(name string) diag.Diagnostic {
	why := fmt.Sprintf("There is no backend type named %q.%s", name, diag.DidYouMean(name, Drivers.Names()))
	switch name {
	case "artifactory", "etcd", "etcdv3", "manta", "swift":
		why = fmt.Sprintf("The backend %q is not supported: Terraform removed it in version 1.3. To move the state, configure another backend with Terraform 1.2, and run \"terraform init -migrate-state\".", name)
	case "azure":
		why = "The backend \"azure\" is named \"azurerm\" now."
	case "cloud":
		why = "There is no backend type named \"cloud\". Replace the \"backend\" block with a \"cloud\" block."
	case "cos", "oss", "oci":
		why = fmt.Sprintf("Lethe does not support the backend %q. To move the state, configure one of the backends below, and run \"init -migrate-state\" with Terraform or OpenTofu.", name)
	}
	return diag.Errorf("Unsupported backend type", "%s Available are: %s.", why, strings.Join(Drivers.Names(), ", "))
}

// SecretIn returns a function that reports whether the setting at a path is sensitive for the named backend.
func SecretIn(backend string) func(cty.Path) bool {
	driver, _ := find(backend)
	return func(path cty.Path) bool {
		if driver.Schema == nil {
			return false
		}
		a := driver.Schema.Attribute(path)
		return a != nil && a.Sensitive
	}
}

// secret reports whether the schema marks a setting as sensitive, so that no message may show its value.
func secret(sch *schema.Block, path cty.Path) bool {
	a := sch.Attribute(path)
	return a != nil && a.Sensitive
}
