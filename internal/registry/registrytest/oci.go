package registrytest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// Image adds a document to a repository of an OCI registry, under a tag and its digest: an index with the given
// manifests, or, without manifests, a manifest with a zip file. It returns the descriptor of the document for an index.
func (s *Server) Image(repository, tag, artifact string, zip []byte, index ...map[string]any) map[string]any {
	doc := map[string]any{"schemaVersion": 2, "artifactType": artifact}
	kind := "application/vnd.oci.image.index.v1+json"
	if index != nil {
		doc["manifests"] = index
	} else {
		kind = "application/vnd.oci.image.manifest.v1+json"
		s.blob(repository, []byte("{}"))
		doc["config"] = map[string]any{"mediaType": "application/vnd.oci.empty.v1+json", "digest": s.blob(repository, []byte("{}")), "size": 2}
		doc["layers"] = []any{map[string]any{"mediaType": "archive/zip", "digest": s.blob(repository, zip), "size": len(zip)}}
	}
	doc["mediaType"] = kind
	text, err := json.Marshal(doc)
	if err != nil {
		panic(err)
	}
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(text))
	for _, name := range []string{tag, digest} {
		s.Fault("/v2/"+repository+"/manifests/"+name, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Docker-Content-Digest", digest)
			w.Write(text)
		})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !strings.HasPrefix(tag, "sha256:") {
		if s.tags == nil {
			s.tags = map[string][]string{}
		}
		s.tags[repository] = append(s.tags[repository], tag)
		slices.Sort(s.tags[repository])
		list, _ := json.Marshal(map[string]any{"name": repository, "tags": s.tags[repository]})
		s.files["/v2/"+repository+"/tags/list"] = list
	}
	return map[string]any{"mediaType": kind, "digest": digest, "size": len(text), "artifactType": artifact}
}

func (s *Server) blob(repository string, content []byte) string {
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(content))
	s.Put("/v2/"+repository+"/blobs/"+digest, content)
	return digest
}

// ProviderImage adds a version of a provider to a repository, with a zip file for each platform.
func (s *Server) ProviderImage(repository, version string, packages map[string][]byte) {
	var index []map[string]any
	for platform, zip := range packages {
		at := s.Image(repository, "sha256:none", "application/vnd.opentofu.provider-target", zip)
		system, arch, _ := strings.Cut(platform, "_")
		at["platform"] = map[string]any{"os": system, "architecture": arch}
		index = append(index, at)
	}
	s.Image(repository, version, "application/vnd.opentofu.provider", nil, index...)
}

// Guard requires a token for requests to the OCI registry. The server issues the token for a name and a password.
func (s *Server) Guard(name, password, token string) {
	s.Fault("/token", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte(name+":"+password)) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprintf(w, `{"token": %q}`, token)
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guard = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasPrefix(r.URL.Path, "/v2/") || r.Header.Get("Authorization") == "Bearer "+token {
			return true
		}
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="https://%s/token",service="tests"`, s.Host))
		w.WriteHeader(http.StatusUnauthorized)
		io.WriteString(w, `{"errors": [{"code": "UNAUTHORIZED", "message": "who is it"}]}`)
		return false
	}
}
