// Package operation names the operations of commands. One table holds the policy of each operation: how the operation
// uses a state, and how its plans differ from the plans of `lethe plan`.
package operation

// Operation is a purpose for which a command locks a state or calls the engine.
type Operation uint8

// The operations. The zero value is for commands that lock a state without one of the other operations. Their plans are
// like the plans of `lethe plan`.
const (
	None Operation = iota
	Plan
	Apply // also destroy
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
	Delete      // workspace delete
	MigrateFrom // init, the former backend
	MigrateTo   // init, the new backend
	Test
	Query
	TearDown // the destruction at the end of a test
)

// Policy describes the effect of an operation on the state, and on the plans that it makes.
type Policy struct {
	// Lock is the name of the operation in locks and in the history of states. Terraform uses the same names.
	Lock string
	// Runs is true if the operation plans or applies. A remote service that stores the state may permit only the other
	// operations.
	Runs bool
	// ReadOnly is true if the operation changes nothing. It replays the journals of interrupted runs in memory, but
	// does not write the result.
	ReadOnly bool
	// Concurrent is true if other runs may work on other parts of the state at the same time.
	Concurrent bool
	// Refresh is true if the operation refreshes the objects in the state and stores the result. It then knows the
	// outcome of updates and destructions that no provider answered.
	Refresh bool
	// Overwrites is true if the operation replaces the whole state. An empty state file then counts as no state, and is
	// no error.
	Overwrites bool
	// Forces is true if the operation overwrites a state even if it cannot be read. The unreadable state is put aside.
	Forces bool
	// Applying is the value of terraform.applying.
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
	Delete:      {Lock: "workspace-delete"},
	MigrateFrom: {Lock: "migration source state"},
	MigrateTo:   {Lock: "migration destination state", Overwrites: true},
	Test:        {Lock: "test", Applying: true},
	Query:       {Lock: "OperationTypeQuery", Runs: true, ReadOnly: true, Concurrent: true},
	TearDown:    {Lock: "test", DestroysProtected: true, Applying: true},
}

// Policy returns the policy of the operation.
func (o Operation) Policy() Policy { return policies[o] }
