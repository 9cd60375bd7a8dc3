package real

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/lethe-iac/lethe/test/providers/source"
)

// corner is a provider for tests of the libraries of providers: its resources have every kind of attribute, identity,
// function, action and state store.
var corner = newProduct(product{
	name: "corner", version: "1.0.0",
	Module: source.Module{Path: "github.com/hashicorp/terraform-provider-corner", Version: "v0.0.0-20260717020337-0b39e8b76d2b"},
})

// The reasons why tests of corner skip themselves. They do that with every release of Terraform of the same level, too.
const (
	alphaOnly = "needs an alpha version of Terraform"
	oldOnly   = "needs an older version of Terraform"
	newerOnly = "needs a newer level: TestCornerNewest runs it"
)

var cornerSkips = map[string]string{
	"TestDeferredAction*":                                     alphaOnly,
	"TestSchemaResource_Float*_Precision_MaxFloat32":          oldOnly,
	"TestWriteOnlyResource_OldTerraformVersion_Error":         oldOnly,
	"TestAccDataSourceDeferredAction_InvalidDeferredResponse": oldOnly,
	"TestAccStateStore_*":                                     newerOnly,
	"TestModifyFileAction":                                    newerOnly,
}

// TestCorner runs the acceptance tests of corner at the level that Lethe reports.
func TestCorner(t *testing.T) {
	for _, p := range []struct {
		name, sample string
		least        [2]int
	}{
		{"framework5provider", "Identity|WriteOnly|Ephemeral", [2]int{20, 141}},
		{"framework6provider", "Identity|WriteOnly|Ephemeral", [2]int{25, 152}},
		{"protocolprovider", "", [2]int{12, 12}},
		{"protocolv6provider", "", [2]int{12, 12}},
		{"sdkv2provider", "", [2]int{11, 11}},
		{"sdkv2testingprovider", "", [2]int{3, 3}},
		{"tf5muxprovider", "", [2]int{1, 1}},
		{"tf5to6provider", "", [2]int{1, 1}},
		{"tf6muxprovider", "", [2]int{2, 2}},
		{"tf6to5provider", "", [2]int{2, 2}},
	} {
		of := *corner
		of.tests = "./internal/" + p.name
		s := suite{product: &of, needs: []string{"random", "time"}, sample: p.sample, least: p.least, skips: cornerSkips}
		t.Run(p.name, func(t *testing.T) { s.run(t, must(lethe())(t)) })
	}
}

// TestCornerNewest runs the tests of actions and of state stores. They need a level above the level that Lethe reports,
// so a script reports an alpha version in its place.
func TestCornerNewest(t *testing.T) {
	program := filepath.Join(t.TempDir(), "lethe")
	text := fmt.Sprintf("#!/bin/sh\n[ \"$1\" = version ] || exec %[1]q \"$@\"\n%[1]q \"$@\" | sed s/1.12.0/1.16.0-alpha20260715/g\n", must(lethe())(t))
	check(t, os.WriteFile(program, []byte(text), 0o755))
	stores := "TestAccStateStore_InMem"
	if !long {
		stores += "($|_V)" // without the tests that store a state of 100 MB
	}
	for name, tests := range map[string]string{"framework5provider": "^TestModifyFileAction$", "framework6provider": "^TestModifyFileAction$|^" + stores} {
		of := *corner
		of.tests = "./internal/" + name
		s := suite{product: &of, only: tests, skips: map[string]string{}}
		if s.least = [2]int{1, 1}; name == "framework6provider" {
			s.least = [2]int{4, 5}
		}
		t.Run(name, func(t *testing.T) { s.run(t, program) })
	}
}
