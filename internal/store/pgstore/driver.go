package pgstore

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/zclconf/go-cty/cty"
)

// Driver is the backend "pg". Settings that the block omits may come from the environment (PG_CONN_STR and others).
// Settings that the connection string omits may come from the variables of libpq (PGHOST, PGPASSWORD and so on).
var Driver = store.Driver{Name: "pg", Schema: store.Schema([]*schema.Attr{
	{Name: "conn_str", Type: cty.String, Optional: true, Sensitive: true, Description: "The connection string, as a URL or as words such as host=h. PG_CONN_STR."},
	{Name: "schema_name", Type: cty.String, Optional: true, Description: "The schema of the table: terraform_remote_state if not set. PG_SCHEMA_NAME."},
	{Name: "table_name", Type: cty.String, Optional: true, Description: "The table: states if not set. PG_TABLE_NAME."},
	{Name: "index_name", Type: cty.String, Optional: true, Description: "The index over the names of the workspaces: states_by_name if not set. PG_INDEX_NAME."},
	{Name: "skip_schema_creation", Type: cty.Bool, Optional: true, Description: "Whether a missing schema is not created. PG_SKIP_SCHEMA_CREATION."},
	{Name: "skip_table_creation", Type: cty.Bool, Optional: true, Description: "Whether a missing table is not created. PG_SKIP_TABLE_CREATION."},
	{Name: "skip_index_creation", Type: cty.Bool, Optional: true, Description: "Whether a missing index is not created. PG_SKIP_INDEX_CREATION."},
	{Name: "layout", Type: cty.String, Optional: true, Description: "How a state is stored: document (one text, as Terraform and OpenTofu do; the default) or rows (one row for each object)."},
	{Name: "journal", Type: cty.Bool, Optional: true, Description: "Whether journals of applies are also stored in a table. With layout = rows they always are. Terraform and OpenTofu do not have this setting. LETHE_PG_JOURNAL."},
	{Name: "history_days", Type: cty.Number, Optional: true, Description: "How many days layout = rows keeps former states: 30 if not set, 0 for none."},
}...), Open: openStore}

func openStore(_ context.Context, s store.Settings) (store.Store, error) {
	s.Blank = true
	r := &store.Reader{S: s}
	env := func(name string) string { return "PG_" + strings.ToUpper(name) }
	text := func(name, otherwise string) string { return cmp.Or(r.Text(name, env(name)), otherwise) }
	flag := func(name string) bool { return r.Flag(name, env(name)) }
	o := Options{
		Schema: text("schema_name", "terraform_remote_state"), Table: text("table_name", "states"), Index: text("index_name", "states_by_name"),
		SkipSchema: flag("skip_schema_creation"), SkipTable: flag("skip_table_creation"), SkipIndex: flag("skip_index_creation"),
		Journal: r.Flag("journal", journalVariable), Days: r.Int("history_days", 30),
	}
	switch layout := r.Text("layout"); layout {
	case "", "document":
		if r.Text("history_days") != "" {
			r.Bad("history_days", "\"history_days\" needs layout = \"rows\": no other layout keeps former states")
		}
	case "rows":
		o.Rows = true
	default:
		r.Bad("layout", "the value of \"layout\" must be \"document\" or \"rows\", not %q", layout)
	}
	var err error
	conn := text("conn_str", "")
	s.Secret(passwordIn(conn))
	if o.Config, err = parse(conn, s.Getenv); err != nil {
		r.Bad("conn_str", "the connection string cannot be used: %w", err)
	} else {
		s.Secret(o.Config.Password)
	}
	if r.Err != nil {
		return nil, r.Err
	}
	o.Tries = s.Tries(0)
	return store.Retrying(New(o), o.Tries), nil
}

// parse reads a connection string. TLS is required unless the string or the environment variable PGSSLMODE sets
// sslmode, as in Terraform and OpenTofu. getenv returns the value of an environment variable; nil means that none is
// set.
func parse(text string, getenv func(string) string) (*pgconn.Config, error) {
	text = withHost(escaped(text), getenv)
	if !strings.Contains(text, "sslmode") && (getenv == nil || getenv("PGSSLMODE") == "") {
		switch {
		case !isURL(text):
			text += " sslmode=require"
		case strings.Contains(text, "?"):
			text += "&sslmode=require"
		default:
			text += "?sslmode=require"
		}
	}
	c, err := pgconn.ParseConfig(text)
	if err != nil {
		if strings.Contains(text, "sslinline") {
			return nil, errors.New("certificates in the string (sslinline) are not supported. Write them to files, and set sslcert, sslkey and sslrootcert to the paths of the files")
		}
		// The parser's messages quote parts of the string, which may be parts of the password.
		return nil, errors.New("a part of it is not valid. Use a URL such as postgres://user@host:5432/database, or words such as host=h dbname=d. In a URL, special characters of the password must be percent-encoded")
	}
	// Terraform's driver interprets these parameters itself, and a server does not know them.
	for _, name := range []string{"binary_parameters", "disable_prepared_binary_result", "sslinline"} {
		delete(c.RuntimeParams, name)
	}
	if fallback, ok := c.RuntimeParams["fallback_application_name"]; ok {
		delete(c.RuntimeParams, "fallback_application_name")
		c.RuntimeParams["application_name"] = cmp.Or(c.RuntimeParams["application_name"], fallback)
	}
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, 10*time.Second)
	c.RuntimeParams["client_encoding"] = "UTF8"
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "lethe"
	}
	return c, nil
}

// withHost adds the host localhost if neither the connection string nor the environment names a host, as Terraform's
// driver does. The parser would add the directory of a Unix socket instead, where another server may listen.
func withHost(text string, getenv func(string) string) string {
	switch {
	case getenv != nil && (getenv("PGHOST") != "" || getenv("PGSERVICE") != ""), strings.Contains(text, "service="): // a service file has the host
		return text
	case !isURL(text):
		return "host=localhost " + text // a host in text counts instead, because it comes later
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() != "" || u.Query().Get("host") != "" {
		return text
	}
	u.Host = "localhost" + u.Host // u.Host may be a port, such as ":5433"
	return u.String()
}

func isURL(text string) bool {
	return strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://")
}

// escaped converts a connection URL to the form that the parser of pgconn reads. Terraform's driver parses URLs with
// package net/url, so a password may contain "@", and a parameter may contain "=".
func escaped(text string) string {
	u, err := url.Parse(text)
	if err != nil || !isURL(text) || strings.Contains(u.Host, ",") {
		return text
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return text
	}
	u.ForceQuery = false // removes a "?" without parameters at the end
	u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20")
	return u.String()
}

// passwordIn returns the password in a URL, still escaped, or "" if the text has no password or is no URL.
func passwordIn(text string) string {
	_, rest, _ := strings.Cut(text, "://")
	at := strings.LastIndexByte(rest, '@')
	if at < 0 || !isURL(text) {
		return ""
	}
	_, password, _ := strings.Cut(rest[:at], ":")
	return password
}

// New returns a store that connects at its first request and sends each request once. The function store.Retrying adds
// retries.
func New(o Options) store.Remote { return open(o, &locks{held: map[string]*held{}}) }

func open(o Options, l *locks) store.Remote {
	r := &remote{o: o, table: quoted(o.Schema) + "." + quoted(o.Table), locks: l}
	switch {
	case o.Rows:
		return &rowStore{journaling{r}}
	case o.Journal:
		return &journaling{r}
	}
	return r
}
