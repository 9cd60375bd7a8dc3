// Package kubestore keeps states in Secrets of a Kubernetes cluster. Its driver is the backend "kubernetes" of
// Terraform and OpenTofu, with the same names and labels, so that each program respects the locks of the others. It
// implements the API itself: the vendor's client would enlarge the program by half.
//
// A state is compressed and, if it is too large for one Secret, split into parts in several Secrets. Its version is the
// checksum of all parts. Each write of the first Secret names the resourceVersion that it replaces.
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
	Client    *http.Client // adds the credentials
	Server    *url.URL     // the address of the API
	Namespace string
	Suffix    string            // the suffix of the Secrets' names
	Labels    map[string]string // the labels of all objects, in addition to the store's own labels
	Agent     string            // the User-Agent; "": the default of net/http
}

// New returns a store that sends each request once. See store.Retrying for retries.
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
	removed map[string]bool // workspaces deleted under their lock; unlocking deletes the Lease
}

const (
	dataKey    = "tfstate"     // the key of the state in the data of a Secret
	partsLabel = "lethe-parts" // the annotation with the number of parts and their checksum
	largest    = 1 << 20       // maximum size of a part in a Secret, in bytes
)

func (r *remote) name(workspace string) string { return "tfstate-" + workspace + "-" + r.o.Suffix }

// Capabilities implements store.Store.
func (r *remote) Capabilities() store.Capabilities {
	return store.Capabilities{Breaker: r, Place: r}
}

// Place implements store.Locator.
func (r *remote) Place(workspace string) string {
	return "kubernetes:" + r.o.Server.Host + r.o.Server.EscapedPath() + "/" + r.o.Namespace + "/" + r.name(workspace)
}

func (r *remote) partName(workspace string, n int) string {
	return r.name(workspace) + "-part-" + strconv.Itoa(n)
}

// stagedName returns the temporary name of part n of the content with this checksum.
func (r *remote) stagedName(workspace, sum string, n int) string {
	return r.name(workspace) + "-staged-" + sum[:16] + "-" + strconv.Itoa(n)
}

// nameable matches text that is valid in names of objects and in values of labels.
var nameable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
})

const (
	longestLabel = 63
	nameRule     = `up to 63 lower-case letters, digits, "-" and ".", with letters or digits at both ends and beside each "."`
)

func mayName(text string) bool { return len(text) <= longestLabel && nameable().MatchString(text) }

// checkName extends store.CheckName by the rules of Kubernetes.
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

// parts holds the parts of a compressed state, and their common checksum in hexadecimal.
type parts struct {
	chunks [][]byte
	sum    string
}

// mark returns the annotation that describes the parts.
func (p parts) mark() string { return strconv.Itoa(len(p.chunks)) + " " + p.sum }

func sumOf(chunks [][]byte) string {
	h := sha256.New()
	for _, c := range chunks {
		h.Write(c)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// split compresses a state and splits it into parts.
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
