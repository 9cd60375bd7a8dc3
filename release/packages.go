package main

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // formats that nfpm.Get knows
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// places maps directories of an archive to directories of a Linux system.
var places = map[string]string{"man": "/usr/share/man/man1", ".": "/usr/share/doc/lethe"}

// completionPlaces maps completions to the directories in which shells search.
var completionPlaces = map[string]string{
	"lethe.bash": "/usr/share/bash-completion/completions/lethe",
	"_lethe":     "/usr/share/zsh/site-functions/_lethe",
	"lethe.fish": "/usr/share/fish/vendor_completions.d/lethe.fish",
}

// place returns the path at which a package installs a file on Linux, or "" for the completion of a shell that has no
// directory there.
func place(f file) string {
	dir, name := path.Split(f.name)
	dir = path.Clean(dir)
	switch {
	case f.name == "lethe":
		return "/usr/bin/lethe"
	case dir == "completions":
		return completionPlaces[name]
	}
	return path.Join(places[dir], name)
}

// packed returns a package of the format deb or rpm.
func (r *release) packed(format string, t target, all []file) ([]byte, error) {
	dir, err := os.MkdirTemp("", "lethe-release-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var contents files.Contents
	for _, f := range all {
		to := place(f)
		if to == "" {
			continue
		}
		from := filepath.Join(dir, strings.ReplaceAll(f.name, "/", "_"))
		if err := os.WriteFile(from, f.data, 0o600); err != nil {
			return nil, err
		}
		contents = append(contents, &files.Content{
			Source: from, Destination: to,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: f.mode, MTime: r.time},
		})
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "lethe", Arch: t.arch, Platform: "linux", Version: r.version, Release: "1", Section: "utils", Priority: "optional",
		Maintainer: "The authors of Lethe", Vendor: "Lethe", License: "MPL-2.0", Homepage: "https://github.com/lethe-iac/lethe",
		Description: "Infrastructure as code that forgets your secrets\nPlans and applies configurations of the Terraform/OpenTofu language.",
		MTime:       r.time, Overridables: nfpm.Overridables{Contents: contents, RPM: nfpm.RPM{BuildHost: "localhost"}},
	})
	packager, err := nfpm.Get(format)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = packager.Package(info, &b)
	return b.Bytes(), err
}

// sortFiles sorts files by name.
func sortFiles(list []file) {
	slices.SortFunc(list, func(a, b file) int { return strings.Compare(a.name, b.name) })
}
