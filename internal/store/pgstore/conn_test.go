package pgstore

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lethe-iac/lethe/internal/store"
)

// TestNoConnection checks that the error of a failed connection reports that no request was sent.
func TestNoConnection(t *testing.T) {
	config, err := pgconn.ParseConfig("postgres://nowhere.invalid/states?connect_timeout=5")
	if err != nil {
		t.Fatal(err)
	}
	_, err = New(Options{Config: config, Schema: "s"}).Put(t.Context(), "w", []byte("{}"), "")
	var noAnswer *store.UnansweredError
	if !errors.As(err, &noAnswer) || !noAnswer.Unsent {
		t.Errorf("%#v", err)
	}
}
