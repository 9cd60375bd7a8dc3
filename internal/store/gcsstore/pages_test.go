package gcsstore

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"testing"
)

// TestPages checks that all pages of a list are read.
func TestPages(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, _ := strconv.Atoi(r.URL.Query().Get("pageToken"))
		type object = map[string]string
		reply := map[string]any{"items": []object{{"name": "p/w" + strconv.Itoa(page) + ".tfstate", "generation": strconv.Itoa(page + 1)}}}
		if r.URL.Query().Has("versions") {
			reply["items"] = []object{{"name": "p/w.tfstate", "generation": strconv.Itoa(page + 1), "timeCreated": "2026-01-02T03:04:05Z", "timeDeleted": "2026-01-02T03:04:06Z"}}
		}
		if page < 3 {
			reply["nextPageToken"] = strconv.Itoa(page + 1)
		}
		_ = json.NewEncoder(w).Encode(reply)
	}))
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	r := New(Options{Client: server.Client(), Endpoint: at, Bucket: "b", Prefix: "p"})
	if names, err := r.List(t.Context()); err != nil || !slices.Equal(names, []string{"default", "w0", "w1", "w2", "w3"}) {
		t.Errorf("%q, %v", names, err)
	}
	if all, err := r.Capabilities().Service.EarlierVersions(t.Context(), "w"); err != nil || len(all) != 4 || all[0].ID != "4" {
		t.Errorf("%v, %v", all, err)
	}
}
