package provider

import "github.com/lethe-iac/lethe/internal/addr"

// Substitutes are the providers that a run uses in place of the processes of a Pool. A caller of the engine sets them to
// imitate providers, or to record their answers. The engine does not know which of both they do.
//
// The methods are called from many goroutines, and more than once for the same arguments. They return the same provider
// for the same arguments during one run.
type Substitutes interface {
	// Configuration returns the provider that serves a provider configuration. No process is started for it, and it gets
	// neither ValidateConfig nor Configure. nil: a process serves the configuration.
	Configuration(c addr.ProviderInstance) Provider
	// Object returns the provider that serves the calls about one object. p serves the object's provider configuration;
	// Object returns p if it changes nothing.
	Object(i addr.Instance, p Provider) Provider
}
