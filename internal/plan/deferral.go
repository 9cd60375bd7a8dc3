package plan

// These are reasons of deferrals. A provider may give another reason, which is kept unchanged.
const (
	InstanceCountUnknown  = "instance_count_unknown"  // the keys of the instances are not known
	ResourceConfigUnknown = "resource_config_unknown" // a value that the plan needs is not known
	ProviderConfigUnknown = "provider_config_unknown" // some settings of the provider are not known
	DeferredPrereq        = "deferred_prereq"         // a dependency is deferred
	AbsentPrereq          = "absent_prereq"           // the provider misses an object that does not exist yet
)

// Deferral is the reason why a change is left to a later round: a further plan and apply (ADR 52).
type Deferral struct {
	Reason string `json:"reason"`

	// Pattern is the address of the instances if their keys are not known, such as module.m[*].test_thing.a[*]. Then the
	// object of the change names the resource without keys. It is empty for one instance.
	Pattern string `json:"pattern,omitempty"`

	// After lists the resources that the decision waits for, sorted.
	After []string `json:"after,omitempty"`
}
