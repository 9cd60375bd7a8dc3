package pgstore

import (
	"fmt"
	"strings"

	"github.com/lethe-iac/lethe/internal/store/pgstore/rows"
)

// column is a column of a table.
type column struct{ name, kind, comment string }

// versionColumns are the columns of the table with one row for each writing (each write of a state).
var versionColumns = []column{
	{"state", "bigint NOT NULL", "The id of the state in the table of states."},
	{"number", "bigint NOT NULL", "The number of the write, from 1. The current state has the highest number."},
	{"serial", "numeric(20) NOT NULL", "The serial of the state."},
	{"lineage", "text NOT NULL", "Its lineage."},
	{"terraform_version", "text NOT NULL", "The version of the program that wrote it."},
	{"more", "json", "Fields of the state that newer programs wrote."},
	{"document", "text", "The whole state, if rows cannot represent it exactly."},
	{"size", "bigint NOT NULL", "The size of the document in bytes."},
	{"digest", "text NOT NULL", "The SHA-256 of the serial, the lineage, the other fields and the sum; without a sum, of the document."},
	{"sum", "bytea", "The sum of the digests of all rows that the state has; NULL for a document, and in the first format."},
	{"time", "timestamptz NOT NULL DEFAULT now()", "When it was written."},
	{"who", "text NOT NULL", "Who wrote it: user@host."},
	{"operation", "text NOT NULL", "The operation, as in locks."},
}

// resourceColumns are the columns of the table with one row for each resource of a current state.
var resourceColumns = []column{
	{"state", "bigint NOT NULL", "The id of the state in the table of states."},
	{"resource", "text NOT NULL", "The address of the resource, without keys; output and a name for an output; conditions of and an address for other conditions."},
	{"sum", "bytea NOT NULL", "The sum of the digests of its rows; zeros if it has none."},
	{"stamp", "text", "A digest of its rows, its configuration and its inputs after a run that left no changes for it."},
}

// journalColumns are the columns of the table with the journals of runs.
var journalColumns = []column{
	{"id", "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "Tells rows of this table apart."},
	{"workspace", "text NOT NULL", "The name of the workspace."},
	{"run", "text NOT NULL", "The ID of the lock of the run; in a row without bytes, its name and its start time."},
	{"session", "integer NOT NULL", "The session of the run in its claims; 0 for a run with exclusive access to the state."},
	{"position", "bigint NOT NULL", "The position of the bytes in the journal, from 0; in a row without bytes, the number of recovered records."},
	{"seen", "timestamptz NOT NULL DEFAULT now()", "When the run last reported that it is in progress."},
	{"data", "bytea NOT NULL", "A part of the journal, in the form of a journal file."},
}

// claimColumns are the columns of the table with one row for each run that works on parts of a state.
var claimColumns = []column{
	{"session", "integer PRIMARY KEY", "The second number of the advisory lock that each run holds until it ends."},
	{"state", "bigint NOT NULL", "The id of the state in the table of states."},
	{"who", "text NOT NULL", "The holder, as in locks."},
	{"parts", "text NOT NULL", "JSON: the parts by name, with the use of each: 1 it is needed, 2 something within it is changed, 4 it is changed; or a sum of these."},
}

// common has the columns that each table of rows has in addition to its columns in rows.Tables.
var common = []column{
	{"id", "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "Tells rows of this table apart."},
	{"state", "bigint NOT NULL", "The id of the state in the table of states."},
	{"since", "bigint NOT NULL", "The number of the write that created this row."},
	{"until", "bigint", "The number of the write that changed or removed it. NULL: it is part of the current state."},
	{"digest", "bytea NOT NULL", "A digest, for comparing this row with a row to write."},
}

// byResource is the SQL expression for the indexed beginning of an object's resource. The index has only 200
// characters, because an index does not accept text of any length.
const byResource = `left(resource, 200)`

// part returns the name of the table for rows of a kind, with its schema, quoted for SQL.
func (r *remote) part(k rows.Kind) string { return r.tableOf(rows.Tables[k].Name) }

func (r *remote) versions() string { return r.tableOf("versions") }

func (r *remote) journals() string { return r.tableOf("journals") }

func (r *remote) resources() string { return r.tableOf("resources") }

func (r *remote) claims() string { return r.tableOf("claims") }

func (r *remote) tableOf(name string) string {
	return quoted(r.o.Schema) + "." + quoted(r.o.Table+"_"+name)
}

// rowTables returns the SQL that creates the missing tables and indexes of the layout "rows".
func (r *remote) rowTables() string {
	var b strings.Builder
	table := func(name, comment string, columns []column, constraint string) {
		b.WriteString(createTable(name, comment, columns, constraint))
	}
	table(r.versions(), "One row for each write of a state in rows.", versionColumns, ", PRIMARY KEY (state, number)")
	table(r.resources(), "One row for each resource and each output of a state in rows.", resourceColumns, "")
	fmt.Fprintf(&b, "CREATE INDEX IF NOT EXISTS %s ON %s (state);\n", quoted(r.o.Table+"_resources_of"), r.resources())
	table(r.journals(), journalsAbout, journalColumns, "")
	table(r.claims(), "One row for each run that works on parts of a state. A run without its advisory lock has ended.", claimColumns, "")
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

const journalsAbout = "The journals of current and interrupted runs; for recovered journals, the number of their records."

// createTable returns the SQL that creates a table if it is missing, or adds its missing columns.
func createTable(name, comment string, columns []column, constraint string) string {
	var b strings.Builder
	var list []string
	for _, c := range columns {
		list = append(list, quoted(c.name)+" "+c.kind)
	}
	fmt.Fprintf(&b, "CREATE TABLE IF NOT EXISTS %s (%s%s);\nCOMMENT ON TABLE %s IS %s;\n", name, strings.Join(list, ", "), constraint, name, literal(comment))
	for _, c := range columns {
		if !strings.Contains(c.kind, "NOT NULL") && !strings.Contains(c.kind, "PRIMARY KEY") { // the column may be newer than an existing table
			fmt.Fprintf(&b, "ALTER TABLE %s ADD COLUMN IF NOT EXISTS %s %s;\n", name, quoted(c.name), c.kind)
		}
		fmt.Fprintf(&b, "COMMENT ON COLUMN %s.%s IS %s;\n", name, quoted(c.name), literal(c.comment))
	}
	return b.String()
}

// literal returns text as an SQL literal.
func literal(text string) string { return `'` + strings.ReplaceAll(text, `'`, `''`) + `'` }
