package pgstore

import (
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
		"postgres://me@127.0.0.1:5/db?sslmode=disable&application_name=a&fallback_application_name=b&connect_timeout=3": {"me", "", "", "a"},
	} {
		c, err := parse(text, nil)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := [4]string{c.User, c.Password, c.RuntimeParams["options"], c.RuntimeParams["application_name"]}
		if _, sent := c.RuntimeParams["binary_parameters"]; sent || got != want || c.Host != "127.0.0.1" || c.Port != 5 || c.Database != "db" {
			t.Errorf("%s: %q, %s:%d/%s", text, got, c.Host, c.Port, c.Database)
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
