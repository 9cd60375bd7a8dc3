package pgstore

import (
	"fmt"
	"strings"

	"github.com/lethe-iac/lethe/internal/state/store/pgstore/rows"
)

// column is one of those that every table of rows has besides its own.
type column struct{ name, kind, comment string }

// versionColumns are those of the table that has a row for each writing of a state.
var versionColumns = []column{
	{"state", "bigint NOT NULL", "The id of the state in the table of states."},
	{"number", "bigint NOT NULL", "Counts the writings, from 1. The highest is that of the state as it is."},
	{"serial", "numeric(20) NOT NULL", "The serial of the state."},
	{"lineage", "text NOT NULL", "Its lineage."},
	{"terraform_version", "text NOT NULL", "The version of the program that wrote it."},
	{"more", "json", "Fields of the state that newer programs wrote."},
	{"document", "text", "The whole state, where rows do not make it as it was written."},
	{"size", "bigint NOT NULL", "How many bytes it has as a document."},
	{"digest", "text NOT NULL", "The SHA-256 of the serial, the lineage, the other fields and the sum; where there is none, of the document."},
	{"sum", "bytea", "The sum of the digests of all rows that the state has; NULL for a document, and in the first format."},
	{"time", "timestamptz NOT NULL DEFAULT now()", "When it was written."},
	{"who", "text NOT NULL", "Who wrote it: user@host."},
	{"operation", "text NOT NULL", "What for, as locks say it."},
}

// resourceColumns are those of the table that has a row for each resource of a state, as the state is.
var resourceColumns = []column{
	{"state", "bigint NOT NULL", "The id of the state in the table of states."},
	{"resource", "text NOT NULL", "The address of the resource, without keys; of an output, output and its name; of conditions of what is neither, conditions of and its address."},
	{"sum", "bytea NOT NULL", "The sum of the digests of its rows; zeros if it has none."},
	{"stamp", "text", "A digest of its rows, of its configuration and of what it is made from, as of a run that left nothing to do for it."},
}

// journalColumns are those of the table that has what runs record while they go on.
var journalColumns = []column{
	{"id", "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "Tells rows of this table apart."},
	{"workspace", "text NOT NULL", "The name of the workspace."},
	{"run", "text NOT NULL", "The ID of the lock of the run; in a row without bytes, its name and when it began."},
	{"session", "integer NOT NULL", "The session of the run, as its claims say it; 0 for one that has the state for itself."},
	{"position", "bigint NOT NULL", "Where in the journal the bytes stand, from 0; in a row without bytes, how many records were taken in."},
	{"seen", "timestamptz NOT NULL DEFAULT now()", "When the run showed last that it goes on."},
	{"data", "bytea NOT NULL", "A piece of the journal, in the form that it has beside a local state."},
}

// claimColumns are those of the table that has a row for each run that works on parts of a state.
var claimColumns = []column{
	{"session", "integer PRIMARY KEY", "Tells runs apart: the second number of the advisory lock that each has for as long as it goes on."},
	{"state", "bigint NOT NULL", "The id of the state in the table of states."},
	{"who", "text NOT NULL", "Who it is, as locks say it."},
	{"parts", "text NOT NULL", "JSON: the parts by name, with what is done with each: 1 it is needed, 2 something within is changed, 4 it is changed; or a sum of these."},
}

// common are the columns of every row that is a part of a state.
var common = []column{
	{"id", "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "Tells rows of this table apart."},
	{"state", "bigint NOT NULL", "The id of the state in the table of states."},
	{"since", "bigint NOT NULL", "The number of the writing that made this row."},
	{"until", "bigint", "The number of the writing that changed or removed it. NULL: it is part of the state as it is."},
	{"digest", "bytea NOT NULL", "Tells whether a row that is to be written is this one."},
}

// byResource is what objects are found by: an index takes no text of any length.
const byResource = `left(resource, 200)`

// part is the table of one kind of rows, quoted, with its schema.
func (r *remote) part(k rows.Kind) string { return r.tableOf(rows.Tables[k].Name) }

func (r *remote) versions() string { return r.tableOf("versions") }

func (r *remote) journals() string { return r.tableOf("journals") }

func (r *remote) resources() string { return r.tableOf("resources") }

func (r *remote) claims() string { return r.tableOf("claims") }

func (r *remote) tableOf(name string) string {
	return quoted(r.o.Schema) + "." + quoted(r.o.Table+"_"+name)
}

// rowTables is the SQL that makes what is missing.
func (r *remote) rowTables() string {
	var b strings.Builder
	table := func(name, comment string, columns []column, constraint string) {
		b.WriteString(createTable(name, comment, columns, constraint))
	}
	table(r.versions(), "One row for each writing of a state that is kept in rows.", versionColumns, ", PRIMARY KEY (state, number)")
	table(r.resources(), "One row for each resource of a state that is kept in rows, and one for each output.", resourceColumns, "")
	fmt.Fprintf(&b, "CREATE INDEX IF NOT EXISTS %s ON %s (state);\n", quoted(r.o.Table+"_resources_of"), r.resources())
	table(r.journals(), journalsAbout, journalColumns, "")
	table(r.claims(), "One row for each run that works on parts of a state. One without its advisory lock has ended.", claimColumns, "")
	for k, t := range rows.Tables {
		columns := common
		for _, c := range t.Columns {
			columns = append(columns[:len(columns):len(columns)], column{c.Name, c.Type, c.Comment})
		}
		name := r.part(rows.Kind(k))
		table(name, t.Comment, columns, "")
		index := r.o.Table + "_" + t.Name
		fmt.Fprintf(&b, "CREATE INDEX IF NOT EXISTS %s ON %s (state) WHERE until IS NULL;\n", quoted(index+"_current"), name)
		fmt.Fprintf(&b, "CREATE INDEX IF NOT EXISTS %s ON %s (state, until) WHERE until IS NOT NULL;\n", quoted(index+"_former"), name)
		if rows.Kind(k) == rows.Objects {
			fmt.Fprintf(&b, "CREATE INDEX IF NOT EXISTS %s ON %s (state, %s) WHERE until IS NULL;\n", quoted(index+"_by_resource"), name, byResource)
		}
	}
	return b.String()
}

const journalsAbout = "What runs that go on have recorded, and those that were lost; of those that were taken in how much."

// createTable is the SQL that makes a table, or what is missing of it.
func createTable(name, comment string, columns []column, constraint string) string {
	var b strings.Builder
	var list []string
	for _, c := range columns {
		list = append(list, quoted(c.name)+" "+c.kind)
	}
	fmt.Fprintf(&b, "CREATE TABLE IF NOT EXISTS %s (%s%s);\nCOMMENT ON TABLE %s IS %s;\n", name, strings.Join(list, ", "), constraint, name, literal(comment))
	for _, c := range columns {
		if !strings.Contains(c.kind, "NOT NULL") && !strings.Contains(c.kind, "PRIMARY KEY") { // it may be newer than the table
			fmt.Fprintf(&b, "ALTER TABLE %s ADD COLUMN IF NOT EXISTS %s %s;\n", name, quoted(c.name), c.kind)
		}
		fmt.Fprintf(&b, "COMMENT ON COLUMN %s.%s IS %s;\n", name, quoted(c.name), literal(c.comment))
	}
	return b.String()
}

// literal is a text in SQL.
func literal(text string) string { return `'` + strings.ReplaceAll(text, `'`, `''`) + `'` }
