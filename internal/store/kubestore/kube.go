// Package kubestore keeps states in Secrets of a Kubernetes cluster. Its driver is the backend "kubernetes" of
// Terraform and OpenTofu, with the same names and labels, so that each program respects the locks of the others. The
// package sends requests to the API without the client of Kubernetes, which would enlarge the program by half.
//
// A state is compressed with gzip. If it is too large for one Secret, it is split into parts in several Secrets. The
// version of a state is the checksum of all parts. Each write of the first Secret is conditional on the resourceVersion
// that it replaces.
//
// The other parts cannot be replaced in the same step, so each is written twice:
//
//   - Before the first Secret, the other parts are written under temporary names (staged).
//   - The first Secret is written, with an annotation that has the number of parts and their common checksum.
//   - Then the other parts are written under the names that Terraform expects (settled).
//
// A reader that finds parts that do not match the annotation uses the staged parts, and settles them. The lock is a
// Lease.
package kubestore

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"sync"

	"github.com/lethe-iac/lethe/internal/store"
)

// Options configures the store.
type Options struct {
	Client    *http.Client // an HTTP client that adds the credentials to requests
	Server    *url.URL     // the address of the API
	Namespace string
	Suffix    string            // the end of the Secrets' names
	Labels    map[string]string // the labels of all objects, in addition to the store's own labels
	Agent     string            // the User-Agent; "": the default of net/http
}

// New returns a store that sends each request once. The function store.Retrying adds retries.
func New(o Options) store.Remote {
	header := http.Header{"Accept": {"application/json"}}
	if o.Agent != "" {
		header.Set("User-Agent", o.Agent)
	}
	return &remote{o: o, api: &store.API{Client: o.Client, Header: header, ErrorMessage: errorMessage}, removed: map[string]bool{}}
}

type remote struct {
	o   Options
	api *store.API

	mu      sync.Mutex
	removed map[string]bool // the workspaces that were deleted under their lock: unlocking also deletes the Lease
}

const (
	dataKey    = "tfstate"     // the name of the state's content in the data of a Secret
	partsLabel = "lethe-parts" // the annotation of a Secret with the number of parts and their checksum
	largest    = 1 << 20       // the maximum size of a part in a Secret, in bytes
)

func (r *remote) name(workspace string) string { return "tfstate-" + workspace + "-" + r.o.Suffix }

// Capabilities returns the optional abilities of the store. A nil member means that the store lacks the ability.
func (r *remote) Capabilities() store.Capabilities {
	return store.Capabilities{Breaker: r, Place: r}
}

// Place returns a text that identifies the place of a state, for comparison with places of other stores.
func (r *remote) Place(workspace string) string {
	return "kubernetes:" + r.o.Server.Host + r.o.Server.EscapedPath() + "/" + r.o.Namespace + "/" + r.name(workspace)
}

func (r *remote) partName(workspace string, n int) string {
	return r.name(workspace) + "-part-" + strconv.Itoa(n)
}

// stagedName returns the temporary name of part n of the state whose parts have the checksum sum.
func (r *remote) stagedName(workspace, sum string, n int) string {
	return r.name(workspace) + "-staged-" + sum[:16] + "-" + strconv.Itoa(n)
}

// nameable matches text that Kubernetes accepts in names of objects and in values of labels.
var nameable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
})

const (
	longestLabel = 63
	nameRule     = `up to 63 lower-case letters, digits, "-" and ".", with letters or digits at both ends and beside each "."`
)

func mayName(text string) bool { return len(text) <= longestLabel && nameable().MatchString(text) }

// checkName returns an error for a name of a workspace that store.CheckName rejects, or that Kubernetes would reject in
// the name or a label of an object.
func checkName(workspace string) error {
	err := store.CheckName(workspace)
	if err == nil && !mayName(workspace) {
		err = fmt.Errorf("the workspace name %q %w: Kubernetes takes %s", workspace, store.ErrName, nameRule)
	}
	return err
}

// labels returns the labels that identify the objects of a workspace.
func (r *remote) labels(workspace string) map[string]string {
	all := map[string]string{"app.kubernetes.io/managed-by": "terraform"}
	maps.Copy(all, r.o.Labels)
	maps.Copy(all, map[string]string{"tfstate": "true", "tfstateSecretSuffix": r.o.Suffix, "tfstateWorkspace": workspace})
	return all
}

// parts has the parts of a compressed state, and their common SHA-256 in hexadecimal.
type parts struct {
	chunks [][]byte
	sum    string
}

// mark returns the value of the annotation that describes the parts: their number and their checksum.
func (p parts) mark() string { return strconv.Itoa(len(p.chunks)) + " " + p.sum }

func sumOf(chunks [][]byte) string {
	h := sha256.New()
	for _, c := range chunks {
		h.Write(c)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// split compresses a state and splits it into parts, each small enough for a Secret.
func split(data []byte) (parts, error) {
	var text bytes.Buffer
	z := gzip.NewWriter(&text)
	if _, err := z.Write(data); err != nil {
		return parts{}, err
	}
	if err := z.Close(); err != nil {
		return parts{}, err
	}
	chunks := slices.Collect(slices.Chunk(text.Bytes(), largest))
	return parts{chunks, sumOf(chunks)}, nil
}

func join(chunks [][]byte) ([]byte, error) {
	return store.Unpack(bytes.NewReader(bytes.Join(chunks, nil)))
}

// errorMessage returns the API's message in a refusal.
func errorMessage(text []byte) string {
	var status struct{ Message string }
	_ = json.Unmarshal(text, &status)
	return status.Message
}
