package pgstore

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/zclconf/go-cty/cty"
)

// TestConnectionStrings checks that URLs are read as Terraform's driver reads them.
func TestConnectionStrings(t *testing.T) {
	for text, want := range map[string][4]string{ // user, password, options, application name
		"postgres://me:p@ss@127.0.0.1:5/db?sslmode=disable":                                                             {"me", "p@ss", "", "lethe"},
		"postgres://me:p%40ss@127.0.0.1:5/db?sslmode=disable":                                                           {"me", "p@ss", "", "lethe"},
		"postgresql://me@127.0.0.1:5/db?sslmode=disable&options=-c search_path=tofu":                                    {"me", "", "-c search_path=tofu", "lethe"},
		"postgresql://me@127.0.0.1:5/db?sslmode=disable&options=-c%20search_path%3Dtofu":                                {"me", "", "-c search_path=tofu", "lethe"},
		"postgres://me@127.0.0.1:5/db?":                                                                                 {"me", "", "", "lethe"},
		"postgres://me@127.0.0.1:5/db?sslmode=disable&binary_parameters=yes&fallback_application_name=x":                {"me", "", "", "x"},
		"host=127.0.0.1 port=5 user=me password=p@s=s dbname=db sslmode=disable binary_parameters=yes":                  {"me", "p@s=s", "", "lethe"},
		"postgres://me@127.0.0.1:5/db?sslmode=disable&disable_prepared_binary_result=yes":                               {"me", "", "", "lethe"},
		"postgres://me@127.0.0.1:5/db?sslmode=disable&application_name=a&fallback_application_name=b&connect_timeout=3": {"me", "", "", "a"},
	} {
		c, err := parse(text, nil)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := [4]string{c.User, c.Password, c.RuntimeParams["options"], c.RuntimeParams["application_name"]}
		sent := c.RuntimeParams["binary_parameters"] + c.RuntimeParams["disable_prepared_binary_result"]
		if sent != "" || got != want || c.Host != "127.0.0.1" || c.Port != 5 || c.Database != "db" {
			t.Errorf("%s: %q, %s:%d/%s", text, got, c.Host, c.Port, c.Database)
		}
	}
}

// TestDefaultHost checks that a connection string without a host means this machine, as in Terraform. The parser of
// pgconn would choose the directory of a Unix socket, such as /tmp.
func TestDefaultHost(t *testing.T) {
	for text, want := range map[string]string{
		"": "localhost:5432", "dbname=db user=me": "localhost:5432", "port=5 dbname=db": "localhost:5", "host=db.example.com": "db.example.com:5432", "host=/run/pg port=5": "/run/pg:5",
		"postgres://me:p@ss@/db?sslmode=disable": "localhost:5432", "postgres:///db": "localhost:5432", "postgres://me@:5/db": "localhost:5", "postgres://me@:5": "localhost:5",
		"postgres:///db?host=/run/pg": "/run/pg:5432", "postgres:///db?host=/run/pg&port=5": "/run/pg:5", "postgresql://a:1,b:2/db": "a:1",
	} {
		if c, err := parse(text, os.Getenv); err != nil || fmt.Sprintf("%s:%d", c.Host, c.Port) != want {
			t.Errorf("%q: %v %v, want %s", text, c, err, want)
		}
	}
	t.Setenv("PGHOST", "/run/other")
	for text, want := range map[string]string{"": "/run/other", "postgres:///db": "/run/other", "host=h": "h"} {
		if c, err := parse(text, os.Getenv); err != nil || c.Host != want {
			t.Errorf("%q with PGHOST: %v %v, want %s", text, c, err, want)
		}
	}
}

// TestNoPasswordInErrors checks that the message about an invalid connection string contains no part of its password.
func TestNoPasswordInErrors(t *testing.T) {
	for _, text := range []string{
		"postgres://me:canary#4711@127.0.0.1:1/db", "postgres://me:canary/4711@127.0.0.1:1/db", "postgres://me:canary?4711@127.0.0.1:1/db", "postgres://me:canary%zz4711@127.0.0.1:1/db",
		"postgres://me:canary:4711@127.0.0.1:1/db?sslmode=nonsense", "host=127.0.0.1 port=x password='canary4711",
	} {
		var learned []string
		config := cty.ObjectVal(map[string]cty.Value{"conn_str": cty.StringVal(text)})
		_, err := Driver.Open(t.Context(), store.Settings{Config: config, Learn: func(s string) { learned = append(learned, s) }})
		if err != nil && (strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "4711")) {
			t.Errorf("%s: %v", text, err)
		}
		if strings.Contains(text, "@") && !strings.Contains(strings.Join(learned, " "), "canary") {
			t.Errorf("%s: learned is %q", text, learned)
		}
	}
}
