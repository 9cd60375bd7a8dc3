package secretscmd

import (
	"strings"

	"github.com/lethe-iac/lethe/internal/cli/states"
	"github.com/lethe-iac/lethe/internal/store"
)

// unreachable returns descriptions of the places that may have copies of a state, and that Lethe cannot clean. hints
// has sentences about places that Lethe cannot list.
func unreachable(at states.Selected, hints []string) []string {
	out := append([]string{}, hints...)
	can := at.Capabilities()
	switch at.Type {
	case "s3":
		out = append(out, "Versions under an object lock, versions in a bucket with MFA delete, and replicas in other buckets.")
	case "gcs":
		out = append(out, "Objects under a retention policy or a hold, and objects that soft delete keeps.")
	case "azurerm":
		out = append(out, "Blobs under an immutability policy, and blobs that soft delete keeps.")
	case "pg":
		if can.History == nil {
			out = append(out, "Rows of a former state, if the backend had layout = \"rows\" before.")
		}
		out = append(out, "The write-ahead log, replicas and backups of the database, and the former contents of changed rows until VACUUM FULL.")
	case "http":
		if text := gitlabVersions(at.Place()); text != "" {
			out = append(out, text)
		}
		out = append(out, "Earlier versions and backups of the service that stores the state.")
	case "remote", "cloud", "consul", "kubernetes":
		out = append(out, "Earlier versions, snapshots and backups of the service that stores the state.")
	}
	return append(out,
		"The history of git, if a state, a backup or a plan was committed.",
		"Artifacts, caches and logs of pipelines.",
		"Copies on other machines, and backups of this one.")
}

// gitlabVersions returns sentences with the command that deletes an earlier version of a state in GitLab, or "" if
// place, the address of the state, is not an address of GitLab's API. GitLab has no call that lists the versions, so
// Lethe cannot examine them.
func gitlabVersions(place string) string {
	address, query, _ := strings.Cut("https://"+strings.TrimPrefix(place, "http:"), "?")
	project, name, ok := strings.Cut(address, "/terraform/state/")
	if !ok || query != "" || name == "" || strings.Contains(name, "/") || !strings.Contains(project, "/api/v4/projects/") {
		return ""
	}
	return "Earlier versions of the state in GitLab, which its interface does not list. To delete the version with the serial N, replace N and run: curl --request DELETE --header \"PRIVATE-TOKEN: $TOKEN\" " + store.ShellCommand(address+"/versions/N")
}
