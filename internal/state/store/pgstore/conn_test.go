package pgstore

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lethe-iac/lethe/internal/state/store"
)

// TestNoConnection: where there is no connection, no request was made.
func TestNoConnection(t *testing.T) {
	config, err := pgconn.ParseConfig("postgres://nowhere.invalid/states?connect_timeout=5")
	if err != nil {
		t.Fatal(err)
	}
	_, err = New(Options{Config: config, Schema: "s"}).Put(t.Context(), "w", []byte("{}"), "")
	var lost *store.UnansweredError
	if !errors.As(err, &lost) || !lost.Unsent {
		t.Errorf("%#v", err)
	}
}
