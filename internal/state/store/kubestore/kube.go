// Package kubestore keeps states in Secrets of a Kubernetes cluster: what Terraform and OpenTofu call the backend
// "kubernetes", with their names and labels, so that each waits for the locks of the others. It speaks the API by
// itself; the vendor's client would make the program half as large again.
//
// The state is compressed, and what does not fit into one Secret goes on in further ones. The version of a state is the
// checksum of them all; every writing names the resourceVersion of the first. The others cannot be replaced with it in one step. So they
// are written twice: first beside the state, under names of their own (staged), and after the first Secret, which says
// in an annotation how many there are and which checksum they have together, where Terraform looks for them (settled).
// A reader who finds parts that do not fit takes those that are staged, and settles them. The lock is a Lease.
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

	"github.com/lethe-iac/lethe/internal/state/store"
)

// Options say where states are.
type Options struct {
	Client    *http.Client // adds the credentials
	Server    *url.URL     // of the API
	Namespace string
	Suffix    string            // of the names of Secrets
	Labels    map[string]string // of all objects, beside those that are always there
	Agent     string            // how the client names itself; "": as net/http does
}

// New makes the store. It makes each request once: see store.Careful.
func New(o Options) store.Remote {
	header := http.Header{"Accept": {"application/json"}}
	if o.Agent != "" {
		header.Set("User-Agent", o.Agent)
	}
	return &remote{o: o, api: &store.API{Client: o.Client, Header: header, Said: said}, removed: map[string]bool{}}
}

type remote struct {
	o   Options
	api *store.API

	mu      sync.Mutex
	removed map[string]bool // workspaces that were removed under the lock, whose Lease goes when that is given back
}

const (
	dataKey    = "tfstate"     // of the state in the data of a Secret
	partsLabel = "lethe-parts" // the annotation about all parts: how many, and their checksum
	largest    = 1 << 20       // how much fits into a Secret
)

func (r *remote) name(workspace string) string { return "tfstate-" + workspace + "-" + r.o.Suffix }

// Place implements store.Placed.
func (r *remote) Place(workspace string) string {
	return "kubernetes:" + r.o.Server.Host + r.o.Server.EscapedPath() + "/" + r.o.Namespace + "/" + r.name(workspace)
}

func (r *remote) partName(workspace string, n int) string {
	return r.name(workspace) + "-part-" + strconv.Itoa(n)
}

// stagedName is that of a part of the content with this checksum which is not where it belongs yet.
func (r *remote) stagedName(workspace, sum string, n int) string {
	return r.name(workspace) + "-staged-" + sum[:16] + "-" + strconv.Itoa(n)
}

// nameable is what both the names of objects and the values of their labels may have.
var nameable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
})

const (
	longestLabel = 63
	nameRule     = `up to 63 lower-case letters, digits, "-" and ".", with letters or digits at both ends and beside each "."`
)

func mayName(text string) bool { return len(text) <= longestLabel && nameable().MatchString(text) }

// checkName is store.CheckName for workspaces here.
func checkName(workspace string) error {
	err := store.CheckName(workspace)
	if err == nil && !mayName(workspace) {
		err = fmt.Errorf("the workspace name %q %w: Kubernetes takes %s", workspace, store.ErrName, nameRule)
	}
	return err
}

// labels are those by which the objects of a workspace are found.
func (r *remote) labels(workspace string) map[string]string {
	all := map[string]string{"app.kubernetes.io/managed-by": "terraform"}
	maps.Copy(all, r.o.Labels)
	maps.Copy(all, map[string]string{"tfstate": "true", "tfstateSecretSuffix": r.o.Suffix, "tfstateWorkspace": workspace})
	return all
}

// parts are a state in pieces, and their checksum.
type parts struct {
	chunks [][]byte
	sum    string
}

// mark is the annotation about them.
func (p parts) mark() string { return strconv.Itoa(len(p.chunks)) + " " + p.sum }

func sumOf(chunks [][]byte) string {
	h := sha256.New()
	for _, c := range chunks {
		h.Write(c)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// split compresses a state, and cuts it in pieces that fit.
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

// said finds in a refusal what the API says of it.
func said(text []byte) string {
	var status struct{ Message string }
	_ = json.Unmarshal(text, &status)
	return status.Message
}
