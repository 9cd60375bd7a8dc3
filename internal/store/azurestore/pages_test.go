package azurestore

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// TestPages checks that all pages of a list are read.
func TestPages(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, _ := strconv.Atoi(r.URL.Query().Get("marker"))
		next := ""
		if page < 3 {
			next = strconv.Itoa(page + 1)
		}
		w.Header().Set("Content-Type", "application/xml")
		fmt.Fprintf(w, `<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Blobs><Blob><Name>kenv:w%[1]d</Name><Properties><Content-Length>1</Content-Length></Properties></Blob>`+
			`<Blob><Name>kenv:w</Name><VersionId>2026-01-02T03:04:0%[1]d.0000000Z</VersionId><Properties><Content-Length>1</Content-Length></Properties></Blob></Blobs><NextMarker>%[2]s</NextMarker></EnumerationResults>`, page, next)
	}))
	t.Cleanup(server.Close)
	client, err := container.NewClientWithNoCredential(server.URL+"/states", nil)
	if err != nil {
		t.Fatal(err)
	}
	r := New(Options{Container: client, Key: "k"})
	names, err := r.List(t.Context())
	if err != nil || !slices.Equal(slices.Compact(names), []string{"default", "w", "w0", "w1", "w2", "w3"}) {
		t.Errorf("%q, %v", names, err)
	}
	if all, err := r.Capabilities().Service.EarlierVersions(t.Context(), "w"); err != nil || len(all) != 4 || all[0].ID[:19] != "2026-01-02T03:04:03" {
		t.Errorf("%v, %v", all, err)
	}
}
