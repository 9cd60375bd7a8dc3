// Package operation names the operations of commands. One table holds the policy of each operation: how the operation
// uses a state, and how its plans differ from the plans of `lethe plan`.
package operation

// Operation is a purpose for which a command locks a state or calls the engine.
type Operation uint8

// The operations. A trailing comment names the command if its name differs from the constant. None, the zero value, is
// for commands that lock a state for no operation of this list. Its policy is empty.
const (
	None Operation = iota
	Plan
	Apply // apply and destroy
	Refresh
	Import
	Move        // state mv
	MoveTo      // the other state of state mv -state-out
	Transfer    // state transfer, in both directories
	Remove      // state rm
	Reprovide   // state replace-provider
	Taint       // taint and untaint
	Push        // state push
	ForcePush   // state push -force
	Restore     // state restore
	Repair      // state repair
	Resolve     // state resolve
	CloseLeases // leases close
	Scrub       // secrets scrub
	Create      // workspace new
	Delete      // workspace delete
	MigrateFrom // the former backend of init -migrate-state
	MigrateTo   // the new backend of init -migrate-state
	Test
	Query
	TearDown // the destruction at the end of a test
)

// Policy describes how an operation uses a state, and how the plans of the operation differ from the plans of `lethe
// plan`.
type Policy struct {
	// Lock is the name of the operation in locks and in the history of states. Terraform uses the same names.
	Lock string
	// Runs is true if the operation plans or applies, except for tests. A remote service that stores the state may
	// permit only operations whose Runs is false.
	Runs bool
	// ReadOnly is true if the operation writes no state. If an interrupted apply left a journal (a file with changes
	// that the state lacks), the operation adds these changes to the state in memory only.
	ReadOnly bool
	// Concurrent is true if other runs may change other resources of the same state at the same time.
	Concurrent bool
	// Refresh is true if the operation refreshes the objects in the state and stores the result. Such a refresh shows
	// the outcome of updates and destructions of an interrupted run that the provider did not answer.
	Refresh bool
	// Overwrites is true if the operation replaces the whole state. For such an operation an empty state file counts as
	// no state. For other operations it is an error.
	Overwrites bool
	// Forces is true if the operation overwrites even a state that cannot be read. The unreadable state is kept under
	// another name.
	Forces bool
	// Applying is the value of terraform.applying in the configuration.
	Applying bool

	// ImportsOnly is true if plans of the operation read only the objects that the command imports, and decide nothing
	// about other objects. The arguments of resources are not evaluated, failed conditions are warnings, and import
	// blocks have no effect.
	ImportsOnly bool
	// DestroysProtected is true if plans of the operation destroy objects whose configuration has prevent_destroy or
	// destroy = false. A test destroys everything that it created.
	DestroysProtected bool
}

var policies = [...]Policy{
	Plan:        {Lock: "OperationTypePlan", Runs: true, ReadOnly: true, Concurrent: true},
	Apply:       {Lock: "OperationTypeApply", Runs: true, Concurrent: true, Refresh: true, Applying: true},
	Refresh:     {Lock: "OperationTypeRefresh", Runs: true, Refresh: true},
	Import:      {Lock: "import", Runs: true, ImportsOnly: true},
	Move:        {Lock: "state-mv"},
	MoveTo:      {Lock: "state-mv", Overwrites: true},
	Transfer:    {Lock: "state-transfer"},
	Remove:      {Lock: "state-rm"},
	Reprovide:   {Lock: "state-replace-provider"},
	Taint:       {Lock: "taint"},
	Push:        {Lock: "state-push", Overwrites: true},
	ForcePush:   {Lock: "state-push", Overwrites: true, Forces: true},
	Restore:     {Lock: "state-restore"},
	Repair:      {Lock: "state-repair"},
	Resolve:     {Lock: "state-resolve"},
	CloseLeases: {Lock: "leases-close"},
	Scrub:       {Lock: "secrets-scrub"},
	Create:      {Lock: "workspace-new"},
	Delete:      {Lock: "workspace-delete"},
	MigrateFrom: {Lock: "migration source state"},
	MigrateTo:   {Lock: "migration destination state", Overwrites: true},
	Test:        {Lock: "test", Applying: true},
	Query:       {Lock: "OperationTypeQuery", Runs: true, ReadOnly: true, Concurrent: true},
	TearDown:    {Lock: "test", DestroysProtected: true, Applying: true},
}

// Policy returns the policy of the operation o. For None it is the zero value.
func (o Operation) Policy() Policy { return policies[o] }
