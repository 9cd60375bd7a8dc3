package main

// operation is the command that a row measures.
type operation string

const (
	version   operation = "version"
	validate  operation = "validate"
	plan      operation = "plan"              // a plan that creates everything
	apply     operation = "apply"             // an apply that creates everything
	inAll     operation = "apply -rounds=all" // an apply that creates everything, in all its rounds
	noop      operation = "no-op"             // a plan in which nothing changes
	stale     operation = "stale"             // a plan in which nothing changes, with -refresh=false
	destroy   operation = "destroy"           // a destroy of all objects
	test      operation = "test"              // the command test
	planFile  operation = "plan file"         // a plan that is saved in a file
	show      operation = "show"              // the text of a saved plan
	showJSON  operation = "show json"         // a saved plan as JSON
	showPage  operation = "show page"         // a saved plan as HTML
	stateList operation = "state list"
	secrets   operation = "secrets" // a list of the secrets that the state stores
)

// stored reports whether the command starts with a state in which everything exists.
func (o operation) stored() bool {
	switch o {
	case noop, stale, destroy, stateList, secrets:
		return true
	}
	return false
}

// planned reports whether the command reads a saved plan.
func (o operation) planned() bool { return o == show || o == showJSON || o == showPage }

// arguments returns the command line.
func (o operation) arguments() []string {
	switch o {
	case version:
		return []string{"version"}
	case validate:
		return []string{"validate", "-no-color"}
	case stale:
		return []string{"plan", "-no-color", "-input=false", "-refresh=false"}
	case apply, destroy:
		return []string{string(o), "-no-color", "-input=false", "-auto-approve"}
	case inAll:
		return []string{"apply", "-no-color", "-input=false", "-auto-approve", "-rounds=all"}
	case test:
		return []string{"test", "-no-color"}
	case planFile:
		return []string{"plan", "-no-color", "-input=false", "-out=saved.plan"}
	case show:
		return []string{"show", "-no-color", "saved.plan"}
	case showPage:
		return []string{"show", "-html=page.html", "saved.plan"}
	case showJSON:
		return []string{"show", "-json", "saved.plan"}
	case stateList:
		return []string{"state", "list"}
	case secrets:
		return []string{"secrets"}
	default:
		return []string{"plan", "-no-color", "-input=false"}
	}
}

// group is a set of rows. A row is measured if the flag -group names its group; the default is usual.
type group string

const (
	usual group = "usual" // rows that every engine finishes in seconds
	big   group = "big"   // rows for which an engine may need minutes and a gigabyte
)

// row is one line of the table.
type row struct {
	Name  string // the name of the row for the flag -row, and the first cell of the line
	Shape shape
	N     int // the size: the argument of Shape
	Op    operation
	Env   []string // additional environment variables of the engine and its provider
	Group group
}

// rows returns the lines of docs/performance.md.
func rows() []row {
	types := []string{"BENCH_TYPES=1500"}
	known := append([]string{"BENCH_OPTIONAL=1"}, types...)
	slow := []string{"BENCH_SLEEP=50ms"}
	return []row{
		{"version", empty, 0, version, nil, usual},
		{"validate, empty", empty, 0, validate, nil, usual},
		{"validate, 3,000 blocks", blocks, 3000, validate, nil, usual},
		{"validate, 10,000 blocks", blocks, 10000, validate, nil, usual},
		{"one resource, plan", single, 1, plan, nil, usual},
		{"plan (create), count 1,000", count, 1000, plan, nil, usual},
		{"plan (create), count 3,000", count, 3000, plan, nil, usual},
		{"plan (create), 1,000 blocks", blocks, 1000, plan, nil, usual},
		{"plan (create), 3,000 blocks", blocks, 3000, plan, nil, usual},
		{"apply, count 1,000", count, 1000, apply, nil, usual},
		{"apply, 1,000 in five rounds", inRounds, 1000, inAll, nil, usual},
		{"apply, 300 blocks", blocks, 300, apply, nil, usual},
		{"apply, 1,000 blocks", blocks, 1000, apply, nil, usual},
		{"no-op plan, 1,000 blocks", blocks, 1000, noop, nil, usual},
		{"no-op plan, 3,000 blocks", blocks, 3000, noop, nil, usual},
		{"no-op plan, count 3,000", count, 3000, noop, nil, usual},
		{"no-op plan without refresh, 1,000 blocks", blocks, 1000, stale, nil, usual},
		{"destroy, count 1,000", count, 1000, destroy, nil, usual},
		{"destroy, 1,000 blocks", blocks, 1000, destroy, nil, usual},
		{"for_each over a map, 1,000, plan", eachOfMap, 1000, plan, nil, usual},
		{"for_each over an inline set, 300, plan", eachOfSet, 300, plan, nil, usual},
		{"chain of 300, plan", chain, 300, plan, nil, usual},
		{"chain of 300, apply", chain, 300, apply, nil, usual},
		{"chain of 300, no-op plan", chain, 300, noop, nil, usual},
		{"layers of 300, plan", layers, 300, plan, nil, usual},
		{"layers of 300, apply", layers, 300, apply, nil, usual},
		{"layers of 300, no-op plan", layers, 300, noop, nil, usual},
		{"modules 30 × 10, plan", modules, 300, plan, nil, usual},
		{"modules nested four deep, 1,000, plan", nested, 1000, plan, nil, usual},
		{"count → count references, 150 → 150, plan", pairs, 300, plan, nil, usual},
		{"1,000 outputs, plan", outputs, 1000, plan, nil, usual},
		{"wide objects, count 300, plan", wideCount, 300, plan, nil, usual},
		{"wide objects, 300 blocks, plan", wideBlocks, 300, plan, nil, usual},
		{"300 leases with write-only users, plan", leases, 300, plan, nil, usual},
		{"1,000 leases with write-only users, plan", leases, 1000, plan, nil, usual},
		{"1,000 leases with write-only users, apply", leases, 1000, apply, nil, usual},
		{"1,000 leases with write-only users, no-op plan", leases, 1000, noop, nil, usual},
		{"1,000 data sources by count, plan", dataCount, 1000, plan, nil, usual},
		{"1,000 data blocks, plan", dataBlocks, 1000, plan, nil, usual},
		{"locals of 5,000 elements, plan", locals, 5000, plan, nil, usual},
		{"schema of 1,500 types, 20 blocks, plan", blocks, 20, plan, types, usual},
		{"… of a provider that need not be asked, later command", blocks, 20, plan, known, usual},
		{"30 MB in one attribute, plan", largeAlone, 30, plan, nil, usual},
		{"30 MB in one attribute and a lease, plan", largeLease, 30, plan, nil, usual},
		{"test, 200 runs that apply one resource", runs, 200, test, nil, usual},
		{"500 calls of 50 ms, plan", count, 500, plan, slow, usual},

		{"plan (create), count 10,000", count, 10000, plan, nil, big},
		{"plan (create), 10,000 blocks", blocks, 10000, plan, nil, big},
		{"apply, count 10,000", count, 10000, apply, nil, big},
		{"no-op plan, 10,000 blocks", blocks, 10000, noop, nil, big},
		{"no-op plan, 20,000 blocks", blocks, 20000, noop, nil, big},
		{"no-op plan, count 6,000", count, 6000, noop, nil, big},
		{"destroy, count 3,000", count, 3000, destroy, nil, big},
		{"for_each over an inline set, 1,000, plan", eachOfSet, 1000, plan, nil, big},
		{"chain of 1,000, plan", chain, 1000, plan, nil, big},
		{"chain of 1,000, no-op plan", chain, 1000, noop, nil, big},
		{"chain of 1,000, apply", chain, 1000, apply, nil, big},
		{"chain of 3,000, no-op plan", chain, 3000, noop, nil, big},
		{"layers of 1,000, plan", layers, 1000, plan, nil, big},
		{"layers of 1,000, no-op plan", layers, 1000, noop, nil, big},
		{"layers of 1,000, destroy", layers, 1000, destroy, nil, big},
		{"modules 100 × 10, plan", modules, 1000, plan, nil, big},
		{"modules 100 × 10, destroy", modules, 1000, destroy, nil, big},
		{"count → count references, 500 → 500, plan", pairs, 1000, plan, nil, big},
		{"count → count references, 5,000 → 5,000, plan", pairs, 10000, plan, nil, big},
		{"wide objects, count 1,000, plan", wideCount, 1000, plan, nil, big},
		{"locals of 50,000 elements, plan", locals, 50000, plan, nil, big},
		{"500 modules × 60 variables, plan", variables, 500, plan, nil, big},
		{"500 modules × 60 variables, apply", variables, 500, apply, nil, big},
		{"500 modules × 60 variables, no-op plan", variables, 500, noop, nil, big},
		{"15,000 changes, plan to a file", count, 15000, planFile, nil, big},
		{"15,000 changes, show", count, 15000, show, nil, big},
		{"15,000 changes, show -json", count, 15000, showJSON, nil, big},
		{"10,000 changes, show -json", count, 10000, showJSON, nil, big},
		{"10,000 changes, show -html", count, 10000, showPage, nil, big},
		{"100,000 objects, no-op plan without refresh", count, 100000, stale, nil, big},
		{"100,000 objects, state list", count, 100000, stateList, nil, big},
		{"100,000 objects with 10,000 secrets, state list", sensitive, 100000, stateList, nil, big},
		{"100,000 objects with 10,000 secrets, secrets", sensitive, 100000, secrets, nil, big},
	}
}
