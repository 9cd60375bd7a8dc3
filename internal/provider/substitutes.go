package provider

import "github.com/lethe-iac/lethe/internal/addr"

// Substitutes are the providers that a run uses instead of the processes of a Pool. A caller of the engine sets them to
// imitate providers, or to record their answers. The engine does not distinguish these uses.
//
// The methods may be called concurrently, and several times with the same arguments. In one run, they must return the
// same provider for the same arguments.
type Substitutes interface {
	// Configuration returns the provider that serves a provider configuration. No process is started for the
	// configuration, and the provider gets neither ValidateConfig nor Configure. nil means that a process serves the
	// configuration.
	Configuration(c addr.ProviderInstance) Provider
	// Object returns the provider that serves the calls about one object. p is the provider of the object's provider
	// configuration. Object returns p if p is to serve the object.
	Object(i addr.Instance, p Provider) Provider
}
