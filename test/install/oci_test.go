package install

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/lethe-iac/lethe/internal/registry/registrytest"
)

// images is a client of a published OCI registry program at url.
type images struct {
	*testing.T
	http *http.Client
	url  string
}

// put sends a request with content to the registry, and returns the response, whose body is closed. url is a whole URL,
// or a path of the registry. The test fails if the registry refuses the request.
func (i *images) put(method, url, kind string, body []byte) *http.Response {
	i.Helper()
	if strings.HasPrefix(url, "/") {
		url = i.url + url
	}
	r, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		i.Fatal(err)
	}
	r.Header.Set("Content-Type", kind)
	resp, err := i.http.Do(r)
	if err != nil {
		i.Fatal(err)
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode/100 != 2 {
		i.Fatalf("%s %s: %s: %s", method, url, resp.Status, text)
	}
	return resp
}

type document = map[string]any

// blob uploads bytes to a repository, and returns their descriptor. kind is their media type.
func (i *images) blob(repository, kind string, content []byte) document {
	i.Helper()
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(content))
	to := i.put("POST", "/v2/"+repository+"/blobs/uploads/", "", nil).Header.Get("Location")
	i.put("PUT", to+"?digest="+digest, "application/octet-stream", content)
	return document{"mediaType": kind, "digest": digest, "size": len(content)}
}

// manifest uploads a document to a repository, under a tag, or under its digest if the tag is "". It returns the
// descriptor of the document. kind is manifest or index.
func (i *images) manifest(repository, tag, kind string, doc document) document {
	i.Helper()
	kind = "application/vnd.oci.image." + kind + ".v1+json"
	doc["schemaVersion"], doc["mediaType"] = 2, kind
	text, err := json.Marshal(doc)
	if err != nil {
		i.Fatal(err)
	}
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(text))
	if tag == "" {
		tag = digest
	}
	i.put("PUT", "/v2/"+repository+"/manifests/"+tag, kind, text)
	return document{"mediaType": kind, "digest": digest, "size": len(text), "artifactType": doc["artifactType"]}
}

// pack uploads a zip file to a repository with a manifest, and returns the descriptor of the manifest. artifact is the
// type of the artifact.
func (i *images) pack(repository, tag, artifact string, zip []byte) document {
	i.Helper()
	return i.manifest(repository, tag, "manifest", document{
		"artifactType": artifact, "config": i.blob(repository, "application/vnd.oci.empty.v1+json", []byte("{}")), "layers": []document{i.blob(repository, "archive/zip", zip)},
	})
}

// TestImages installs a provider and a module from a published registry program.
func TestImages(t *testing.T) {
	w := newWorld(t, 0, 0, 0)
	server := httptest.NewUnstartedServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	server.StartTLS()
	t.Cleanup(server.Close)
	i := &images{t, &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}, server.URL}
	host := strings.TrimPrefix(server.URL, "https://")
	zip := registrytest.Zip(map[string]string{"terraform-provider-demo": "the program"})
	at := i.pack("providers/acme/demo", "", "application/vnd.opentofu.provider-target", zip)
	at["platform"] = document{"os": runtime.GOOS, "architecture": runtime.GOARCH}
	i.manifest("providers/acme/demo", "1.2.3", "index", document{"artifactType": "application/vnd.opentofu.provider", "manifests": []document{at}})
	i.pack("modules/net", "v1", "application/vnd.opentofu.modulepkg", registrytest.Zip(map[string]string{"main.tf": "output \"o\" {\n  value = 1\n}\n"}))
	u := w.user()
	w.CA = filepath.Join(u.home, "ca.pem")
	write(t, w.CA, certificate(server))
	write(t, filepath.Join(u.home, ".terraformrc"), "provider_installation {\n  oci_mirror {\n    repository_template = \""+host+"/providers/${namespace}/${type}\"\n  }\n}\n")
	write(t, filepath.Join(w.dir, "main.tf"), "terraform {\n  required_providers {\n    demo = {\n      source  = \"acme/demo\"\n      version = \"~> 1.2\"\n    }\n  }\n}\nmodule \"net\" {\n  source = \"oci://"+host+"/modules/net?tag=v1\"\n}\n")
	dir := u.directory()
	u.run(dir, w.lethe, "init")
	for _, name := range []string{".terraform/providers/registry.opentofu.org/acme/demo/1.2.3/" + runtime.GOOS + "_" + runtime.GOARCH + "/terraform-provider-demo", ".terraform/modules/net/main.tf"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	os.RemoveAll(filepath.Join(dir, ".terraform"))
	u.run(dir, w.lethe, "init", "-lockfile=readonly")
}
