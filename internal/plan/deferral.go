package plan

// These are values of Deferral.Reason. A provider may give another reason, which is kept unchanged.
const (
	InstanceCountUnknown  = "instance_count_unknown"  // the keys of the instances are not known
	ResourceConfigUnknown = "resource_config_unknown" // a value that the plan needs is not known
	ProviderConfigUnknown = "provider_config_unknown" // some settings of the provider are not known
	DeferredPrereq        = "deferred_prereq"         // a dependency of the object is deferred
	AbsentPrereq          = "absent_prereq"           // the provider misses an object that does not exist yet
)

// Deferral describes why a change is left to a later round of the command: a further plan and apply (ADR 52).
type Deferral struct {
	Reason string `json:"reason"`

	// Pattern is the address of the instances if their keys are not known, such as module.m[*].test_thing.a[*]. In this
	// case Change.Object names the resource without keys. Pattern is empty if the change is about one instance.
	Pattern string `json:"pattern,omitempty"`

	// After lists the addresses of the resources that must be applied before the change can be planned, sorted.
	After []string `json:"after,omitempty"`
}
