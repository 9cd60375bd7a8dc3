// Package rows converts a state file of format 4 to rows of tables, and rows back to the same file, byte for byte.
//
//	Split   document → head and rows, in the order of the document
//	Joiner  head and rows → document
//
// A row is a list of cells, one for each column of a table. A nil cell is NULL. Numbers keep their digits and JSON
// values keep their text, because only names are decoded. Split joins the rows again and compares the result with the
// document. It refuses a document that rows cannot reproduce: its white space or its order differs, or it is not a
// state. The caller then stores the document whole.
//
// A state in rows is identified without its document. Each row has a Digest, which is computed from its stored cells. A
// Sum adds the digests of the rows of a state or a resource, so that a writer only adds the digests of new rows and
// subtracts the digests of removed rows.
//
// Tables describes each column. Fields of formats before version 4 was final ("each", "depends_on") have no column: the
// reader of states (package state) omits them, and so does every program that writes a state.
package rows

// Kind is a kind of rows: outputs, objects or check results. Each kind has a table.
type Kind int

// The kinds, in the order in which a document contains their rows.
const (
	Outputs Kind = iota
	Objects
	Checks
	kinds
)

// Column is one column of a table: its name, its SQL type, and a comment for users of the database.
type Column struct{ Name, Type, Comment string }

// Table describes the rows of one kind.
type Table struct {
	Name    string // the end of the table's name, after the name of the table of states and "_"
	Comment string
	Columns []Column
	Order   string // the columns that identify a row, in the order in which a document sorts its rows
}

// The indices of the cells of a row of Objects.
const (
	oModule = iota
	oMode
	oType
	oName
	oKeyKind
	oKeyText
	oKeyNumber
	oDeposed
	oProvider
	oResourceMore
	oOwnProvider
	oStatus
	oSchemaVersion
	oAttributes
	oAttributesFlat
	oSensitive
	oIdentityVersion
	oIdentity
	oPrivate
	oDependencies
	oCreateFirst
	oSkipDestroy
	oMore
	oResource // this column and the next are derived from other columns, and do not count for the digest
	oAddress
	objectCells
)

// Tables describes the tables, indexed by Kind. The collation "C" sorts text by its bytes, as documents do.
var Tables = [kinds]Table{
	Outputs: {"outputs", "One row for each output of the root module.", []Column{
		{"name", `text COLLATE "C" NOT NULL`, "Its name."},
		{"value", "json NOT NULL", "Its value."},
		{"type", "json NOT NULL", "The type of the value, as state files spell types."},
		{"sensitive", "boolean NOT NULL", "Whether it is sensitive."},
		{"deprecated", "text", "The deprecation message, if it is deprecated."},
	}, "name"},
	Objects: {"objects", "One row for each object: an instance of a resource, or a deposed object of one.", []Column{
		oModule:          {"module", `text COLLATE "C" NOT NULL`, "The address of the module instance; empty for the root module."},
		oMode:            {"mode", `text COLLATE "C" NOT NULL`, "managed, or data."},
		oType:            {"type", `text COLLATE "C" NOT NULL`, "The resource type."},
		oName:            {"name", `text COLLATE "C" NOT NULL`, "The name of the resource."},
		oKeyKind:         {"key_kind", "smallint NOT NULL", "0: the instance has no key; 1: key_text is its key; 2: key_number is."},
		oKeyText:         {"key_text", `text COLLATE "C" NOT NULL`, "The key, if it is a string."},
		oKeyNumber:       {"key_number", "bigint NOT NULL", "The key, if it is a number."},
		oDeposed:         {"deposed", `text COLLATE "C" NOT NULL`, "The key of a deposed object; empty for the current one."},
		oProvider:        {"provider", "text", "The provider configuration of the resource."},
		oResourceMore:    {"resource_more", "json", "Fields of the resource that newer programs wrote."},
		oOwnProvider:     {"own_provider", "text", "The instance of a provider with for_each, instead of provider."},
		oStatus:          {"status", "text", "tainted, or nothing."},
		oSchemaVersion:   {"schema_version", "bigint NOT NULL", "The version of the resource type's schema for the attributes."},
		oAttributes:      {"attributes", "json", "The attributes."},
		oAttributesFlat:  {"attributes_flat", "json", "The flat attributes of very old providers, instead of attributes."},
		oSensitive:       {"sensitive_attributes", "json NOT NULL", "The paths of attributes that are sensitive."},
		oIdentityVersion: {"identity_schema_version", "bigint", "The version of the schema of the identity."},
		oIdentity:        {"identity", "json", "The identity."},
		oPrivate:         {"private", "text", "The private data of the provider, in base64."},
		oDependencies:    {"dependencies", "json", "The addresses of its direct and indirect dependencies."},
		oCreateFirst:     {"create_before_destroy", "boolean NOT NULL", "Whether a replacement is created before it is destroyed."},
		oSkipDestroy:     {"skip_destroy", "boolean NOT NULL", "Whether it will be forgotten instead of destroyed."},
		oMore:            {"more", "json", "Fields of the object that newer programs wrote."},
		oResource:        {"resource", "text", "The address of the resource, without keys; NULL in rows of the first format."},
		oAddress:         {"address", "text NOT NULL", "The address of the instance, in the form for commands."},
	}, "module, mode, type, name, key_kind, key_text, key_number, deposed"},
	Checks: {"checks", "One row for each declaration with conditions.", []Column{
		{"object_kind", `text COLLATE "C" NOT NULL`, "resource, output, check or var."},
		{"config_addr", `text COLLATE "C" NOT NULL`, "The address of the declaration."},
		{"status", "text NOT NULL", "pass, fail, error or unknown."},
		{"objects", "json NOT NULL", "The results of its instances."},
	}, "object_kind, config_addr"},
}

// Head has the fields of a document that are not in rows.
type Head struct {
	TerraformVersion string
	Serial           uint64
	Lineage          string
	More             []byte // a JSON object with fields that newer programs wrote, or nil
}
