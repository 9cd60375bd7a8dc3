package s3store

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"testing"
)

// TestPages checks that all pages of a list are read. A page has at most 1,000 objects.
func TestPages(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if q.Has("versions") {
			page, _ := strconv.Atoi(q.Get("version-id-marker"))
			fmt.Fprintf(w, "<ListVersionsResult><IsTruncated>%t</IsTruncated><NextKeyMarker>env:/w/k</NextKeyMarker><NextVersionIdMarker>%d</NextVersionIdMarker>"+
				"<Version><Key>env:/w/k</Key><VersionId>v%d</VersionId><Size>1</Size><IsLatest>false</IsLatest></Version></ListVersionsResult>", page < 3, page+1, page)
			return
		}
		page, _ := strconv.Atoi(q.Get("continuation-token"))
		fmt.Fprintf(w, "<ListBucketResult><IsTruncated>%t</IsTruncated><NextContinuationToken>%d</NextContinuationToken>", page < 3, page+1)
		for n := range 1000 {
			fmt.Fprintf(w, "<Contents><Key>env:/w%d/k</Key></Contents><Contents><Key>env:/w%d/other</Key></Contents>", 1000*page+n, n)
		}
		fmt.Fprint(w, "</ListBucketResult>")
	}))
	t.Cleanup(server.Close)
	st := opened(t, server.URL, 0)
	if names, err := st.List(t.Context()); err != nil || len(names) != 4001 || !slices.Contains(names, "w3999") || slices.Contains(names, "other") {
		t.Errorf("%d names, %v", len(names), err)
	}
	if all, err := st.Capabilities().Service.EarlierVersions(t.Context(), "w"); err != nil || len(all) != 4 {
		t.Errorf("%v, %v", all, err)
	}
}
