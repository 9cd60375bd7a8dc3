// Package rows takes a state file of format 4 apart into rows of tables, and makes the file of them again, byte for
// byte as it was.
//
//	Split   document → head and rows, in the order of the document
//	Joiner  head and rows → document
//
// A row is a list of cells, one for each of a table's columns; nil is NULL. Numbers keep their digits and JSON values
// their text: nothing is decoded but names. That the document comes out as it went in is not hoped for but looked at:
// Split joins what it has split, and compares. A document that cannot be made of rows (it is laid out otherwise, has
// things in another order, or is no state at all) is not split, and is for the caller to keep whole.
//
// Two sums tell states apart without a document: each row has a Digest, of its cells as they are stored, and those of many
// rows are added up (Sum), so that a writer moves the sum by what it adds and takes away.
//
// Tables has what each column is. Of what formats had before version 4 was settled ("each", "depends_on") nothing
// needs a column: the reader of states (package state) leaves it out, and so does everything that writes one.
package rows

// Kind says which table a row belongs to.
type Kind int

// The tables, in the order in which a document has their rows.
const (
	Outputs Kind = iota
	Objects
	Checks
	kinds
)

// Column is one column of a table.
type Column struct{ Name, Type, Comment string }

// Table is what rows of one kind have in common.
type Table struct {
	Name    string // what follows the name of the table of states, and "_"
	Comment string
	Columns []Column
	Order   string // the columns that tell rows apart, in the order of a document
}

// Columns of Objects, as indices of their cells.
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
	oResource // from here on made of others: no part of what tells two rows apart
	oAddress
	objectCells
)

// Tables are the tables by kind. The collation "C" orders text by its bytes, as documents do.
var Tables = [kinds]Table{
	Outputs: {"outputs", "One row for each output of the root module.", []Column{
		{"name", `text COLLATE "C" NOT NULL`, "Its name."},
		{"value", "json NOT NULL", "Its value."},
		{"type", "json NOT NULL", "The type of the value, as state files spell types."},
		{"sensitive", "boolean NOT NULL", "Whether it is sensitive."},
		{"deprecated", "text", "What its users are to do instead, if it is deprecated."},
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
		oSchemaVersion:   {"schema_version", "bigint NOT NULL", "The version of the resource type's schema that the attributes are of."},
		oAttributes:      {"attributes", "json", "The attributes."},
		oAttributesFlat:  {"attributes_flat", "json", "The attributes as very old providers have them, instead of attributes."},
		oSensitive:       {"sensitive_attributes", "json NOT NULL", "The paths of attributes that are sensitive."},
		oIdentityVersion: {"identity_schema_version", "bigint", "The version of the schema of the identity."},
		oIdentity:        {"identity", "json", "The identity."},
		oPrivate:         {"private", "text", "What the provider keeps for itself, in base64."},
		oDependencies:    {"dependencies", "json", "The addresses of the resources that it depends on, directly or not."},
		oCreateFirst:     {"create_before_destroy", "boolean NOT NULL", "Whether a replacement is created before it is destroyed."},
		oSkipDestroy:     {"skip_destroy", "boolean NOT NULL", "Whether it is to be forgotten instead of destroyed."},
		oMore:            {"more", "json", "Fields of the object that newer programs wrote."},
		oResource:        {"resource", "text", "The address of the resource, without keys; NULL in rows of the first format."},
		oAddress:         {"address", "text NOT NULL", "The address of the instance, as commands take it."},
	}, "module, mode, type, name, key_kind, key_text, key_number, deposed"},
	Checks: {"checks", "One row for each declaration with conditions.", []Column{
		{"object_kind", `text COLLATE "C" NOT NULL`, "resource, output, check or var."},
		{"config_addr", `text COLLATE "C" NOT NULL`, "The address of the declaration."},
		{"status", "text NOT NULL", "pass, fail, error or unknown."},
		{"objects", "json NOT NULL", "The results of its instances."},
	}, "object_kind, config_addr"},
}

// Head is what a document has besides rows.
type Head struct {
	TerraformVersion string
	Serial           uint64
	Lineage          string
	More             []byte // JSON object with fields that newer programs wrote; nil: none
}
