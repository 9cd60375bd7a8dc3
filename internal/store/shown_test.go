package store

import (
	"net/url"
	"testing"
)

// TestShownHidesCredentials checks that messages show no password, no query, and no user without a password.
func TestShownHidesCredentials(t *testing.T) {
	for address, want := range map[string]string{
		"https://host/a":                      "https://host/a",
		"https://canary@host/a?token=canary":  "https://xxxxx@host/a",
		"https://canary:@host/a":              "https://xxxxx@host/a",
		"https://user:canary@host/a?x=canary": "https://user:xxxxx@host/a",
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := Shown(u); got != want {
			t.Errorf("%s: %s", address, got)
		}
	}
}
