package clients

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov5"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/config"
	"github.com/hashicorp/terraform-plugin-testing/echoprovider"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
	"github.com/hashicorp/terraform-plugin-testing/tfversion"

	"github.com/lethe-iac/lethe/test/providers/calls"
	"github.com/lethe-iac/lethe/test/providers/framework"
	"github.com/lethe-iac/lethe/test/providers/sdkv2"
)

// This file contains acceptance tests of the playground providers in the form that provider authors use. The providers
// run in this process, and TF_REATTACH_PROVIDERS tells Lethe their addresses.

// acceptance sets the variables that the test framework reads. It returns a new directory, in which the providers keep
// their objects.
func acceptance(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TF_ACC", "1")
	t.Setenv("TF_ACC_TERRAFORM_PATH", binary(t, lethe))
	t.Setenv("TF_CLI_CONFIG_FILE", os.DevNull)
	t.Setenv("PLAYGROUND_CLOUD", dir)
	t.Setenv("PLAYGROUND_IDS", "name")
	return dir
}

// six returns the factories of the providers of protocol 6, by name.
func six() map[string]func() (tfprotov6.ProviderServer, error) {
	return map[string]func() (tfprotov6.ProviderServer, error){
		"playground": func() (tfprotov6.ProviderServer, error) {
			return framework.Server(calls.Open("playground", 6))(), nil
		},
		"echo": echoprovider.NewProviderServer(),
	}
}

// five returns the factory of the provider of protocol 5, by name.
func five() map[string]func() (tfprotov5.ProviderServer, error) {
	return map[string]func() (tfprotov5.ProviderServer, error){
		"playground5": func() (tfprotov5.ProviderServer, error) {
			server, err := sdkv2.Server(context.Background(), calls.Open("playground5", 5))
			if err != nil {
				return nil, err
			}
			return server(), nil
		},
	}
}

// gone returns a check that the providers keep no objects and no leases in the directory.
func gone(dir string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		if left, _ := filepath.Glob(filepath.Join(dir, "*.json")); len(left) > 0 {
			return fmt.Errorf("left behind: %v", left)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "leases", "*.json")); len(left) > 0 {
			return fmt.Errorf("leases left open: %v", left)
		}
		return nil
	}
}

func attribute(name string) tfjsonpath.Path { return tfjsonpath.New(name) }

// action returns a check that the plan has the action for the resource.
func action(addr string, a plancheck.ResourceActionType) resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(addr, a)}}
}

func TestAcceptThing(t *testing.T) {
	dir := acceptance(t)
	const addr = "playground_thing.a"
	thing := func(more string) string {
		return "resource \"playground_thing\" \"a\" {\n  name = \"a\"\n  tags = { b = \"2\", a = \"1\" }\n" + more + "}\noutput \"value\" {\n  value = playground_thing.a.value\n}\n"
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: six(),
		TerraformVersionChecks:   []tfversion.TerraformVersionCheck{tfversion.SkipBelow(tfversion.Version1_12_0)},
		CheckDestroy:             gone(dir),
		Steps: []resource.TestStep{
			{
				Config: thing("  size = 1\n  disks = [{ name = \"d\" }]\n  rules = [{ port = 80 }]\n  labels = { l = { value = \"v\" } }\n  settings = { inner = { text = \"t\" } }\n"),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction(addr, plancheck.ResourceActionCreate),
					plancheck.ExpectUnknownValue(addr, attribute("value")),
					plancheck.ExpectUnknownOutputValue("value"),
					plancheck.ExpectKnownValue(addr, attribute("note"), knownvalue.StringExact("none")),
				}},
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownValue(addr, attribute("size"), knownvalue.Int64Exact(1)),
					statecheck.ExpectKnownValue(addr, attribute("tags"), knownvalue.MapExact(map[string]knownvalue.Check{"a": knownvalue.StringExact("1"), "b": knownvalue.StringExact("2")})),
					statecheck.ExpectKnownValue(addr, attribute("disks").AtSliceIndex(0).AtMapKey("size"), knownvalue.Int64Exact(10)),
					statecheck.ExpectKnownValue(addr, attribute("rules"), knownvalue.SetSizeExact(1)),
					statecheck.ExpectKnownOutputValue("value", knownvalue.StringExact("a/1")),
					statecheck.ExpectIdentityValueMatchesState(addr, attribute("id")),
					statecheck.ExpectIdentityValue(addr, attribute("id"), knownvalue.StringExact("thing-a")),
				},
				Check: resource.ComposeAggregateTestCheckFunc(
					resource.TestCheckResourceAttr(addr, "id", "thing-a"),
					resource.TestCheckResourceAttr(addr, "disks.#", "1"),
					resource.TestCheckResourceAttr(addr, "disks.0.size", "10"),
					resource.TestCheckResourceAttr(addr, "tags.%", "2"),
					resource.TestCheckTypeSetElemNestedAttrs(addr, "rules.*", map[string]string{"port": "80", "proto": "tcp"}),
					resource.TestCheckNoResourceAttr(addr, "ratio"),
					resource.TestCheckOutput("value", "a/1"),
				),
			},
			{Config: thing("  size = 2\n"), ConfigPlanChecks: action(addr, plancheck.ResourceActionUpdate), Check: resource.TestCheckResourceAttr(addr, "value", "a/2")},
			{Config: thing("  size = 2\n"), PlanOnly: true},
			{ResourceName: addr, ImportState: true, ImportStateVerify: true},
			{ResourceName: addr, ImportState: true, ImportStateKind: resource.ImportBlockWithID},
			{ResourceName: addr, ImportState: true, ImportStateKind: resource.ImportBlockWithResourceIdentity},
			{Config: thing("  size = 2\n"), Taint: []string{addr}, ConfigPlanChecks: action(addr, plancheck.ResourceActionReplace)},
			{Config: thing("  size = 2\n  replace = \"x\"\n"), ConfigPlanChecks: action(addr, plancheck.ResourceActionDestroyBeforeCreate)},
			{RefreshState: true, RefreshPlanChecks: resource.RefreshPlanChecks{PostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}},
			{Config: thing("  size = 2\n  secret_note = \"s\"\n"), ConfigStateChecks: []statecheck.StateCheck{statecheck.ExpectSensitiveValue(addr, attribute("secret_note"))}},
			{Config: thing("  size = \"many\"\n"), ExpectError: regexp.MustCompile(`Inappropriate value for attribute "size"|Incorrect attribute value type`)},
			{Config: thing("  fail_on = \"update\"\n"), ExpectError: regexp.MustCompile(`update of "a" failed`)},
			{Config: "# nothing\n", Destroy: false, Check: gone(dir)},
		},
	})
}

func TestAcceptDrift(t *testing.T) {
	dir := acceptance(t)
	const text = "resource \"playground_thing\" \"a\" {\n  name = \"a\"\n  size = 1\n}\n"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: six(),
		CheckDestroy:             gone(dir),
		Steps: []resource.TestStep{
			{Config: text},
			{
				PreConfig: func() {
					for _, file := range mustGlob(t, filepath.Join(dir, "*.json")) {
						if err := os.Remove(file); err != nil {
							t.Fatal(err)
						}
					}
				},
				RefreshState: true, ExpectNonEmptyPlan: true,
				RefreshPlanChecks: resource.RefreshPlanChecks{PostRefresh: []plancheck.PlanCheck{plancheck.ExpectResourceAction("playground_thing.a", plancheck.ResourceActionCreate)}},
			},
			{Config: text},
		},
	})
}

// mustGlob returns the files that match a pattern. It ends the test if no file matches.
func mustGlob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("nothing is at %s: %v", pattern, err)
	}
	return files
}

// TestAcceptDirectory uses configuration from files, with a variable that has a set as its value.
func TestAcceptDirectory(t *testing.T) {
	dir := acceptance(t)
	conf := workspace(t, map[string]string{
		"main.tf": "resource \"playground_blocks\" \"b\" {\n  count = length(var.names)\n  name  = tolist(var.names)[count.index]\n  rule { port = 1 }\n}\ndata \"playground_thing\" \"d\" {\n  count = length(var.names)\n  id    = playground_thing.t[count.index].id\n}\n",
		"more.tf": "variable \"names\" {\n  type = set(string)\n}\nresource \"playground_thing\" \"t\" {\n  count = length(var.names)\n  name  = tolist(var.names)[count.index]\n}\noutput \"all\" {\n  value = data.playground_thing.d[*].name\n}\n",
	})
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: six(),
		CheckDestroy:             gone(dir),
		Steps: []resource.TestStep{{
			ConfigDirectory: config.StaticDirectory(conf),
			ConfigVariables: config.Variables{"names": config.SetVariable(config.StringVariable("x"), config.StringVariable("y"))},
			ConfigStateChecks: []statecheck.StateCheck{
				statecheck.ExpectKnownOutputValue("all", knownvalue.ListExact([]knownvalue.Check{knownvalue.StringExact("x"), knownvalue.StringExact("y")})),
				statecheck.ExpectKnownValue(`playground_blocks.b[0]`, attribute("rule"), knownvalue.SetSizeExact(1)),
			},
		}},
	})
}

// TestAcceptEphemeral checks that values of leases reach a provider configuration, through the provider that the
// framework has for this, and write-only arguments. No file keeps them.
func TestAcceptEphemeral(t *testing.T) {
	dir := acceptance(t)
	t.Setenv("PLAYGROUND_CANARY", "clients-canary-")
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: six(),
		TerraformVersionChecks:   []tfversion.TerraformVersionCheck{tfversion.SkipBelow(tfversion.Version1_10_0)},
		CheckDestroy:             gone(dir),
		Steps: []resource.TestStep{
			{
				Config: "ephemeral \"playground_null\" \"n\" {\n  inputs = { a = \"value of an input\" }\n}\nprovider \"echo\" {\n  data = ephemeral.playground_null.n\n}\nresource \"echo\" \"test\" {}\n",
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownValue("echo.test", attribute("data").AtMapKey("outputs").AtMapKey("a"), knownvalue.StringExact("value of an input")),
					statecheck.ExpectKnownValue("echo.test", attribute("data").AtMapKey("rand"), knownvalue.NotNull()),
				},
			},
			{
				Config: "ephemeral \"playground_lease\" \"l\" {\n  name = \"l\"\n}\nresource \"playground_secret\" \"s\" {\n  name              = \"s\"\n  secret_wo         = ephemeral.playground_lease.l.token\n  secret_wo_version = 1\n}\n",
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownValue("playground_secret.s", attribute("secret_wo"), knownvalue.Null()),
					statecheck.ExpectKnownValue("playground_secret.s", attribute("fingerprint"), knownvalue.StringRegexp(regexp.MustCompile(`length \d\d`))),
				},
				Check: func(s *terraform.State) error {
					if strings.Contains(s.String(), "clients-canary-") {
						return fmt.Errorf("the secret is in the state: %s", s)
					}
					return nil
				},
			},
		},
	})
}

func TestAcceptFunctions(t *testing.T) {
	acceptance(t)
	resource.UnitTest(t, resource.TestCase{
		ProtoV6ProviderFactories: six(),
		TerraformVersionChecks:   []tfversion.TerraformVersionCheck{tfversion.SkipBelow(tfversion.Version1_8_0)},
		Steps: []resource.TestStep{
			{
				Config: "terraform {\n  required_providers {\n    playground = { source = \"hashicorp/playground\" }\n  }\n}\noutput \"test\" {\n  value = provider::playground::concat(\"-\", \"a\", \"b\")\n}\n",
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownOutputValue("test", knownvalue.StringExact("a-b")),
				},
			},
			{
				Config:      "output \"test\" {\n  value = provider::playground::fail(\"fine\", \"refused\")\n}\n",
				ExpectError: regexp.MustCompile(`refused`),
			},
		},
	})
}

func TestAcceptFive(t *testing.T) {
	dir := acceptance(t)
	const addr = "playground5_thing.a"
	thing := func(more string) string {
		return "resource \"playground5_thing\" \"a\" {\n  name  = \"a\"\n  shout = \"loud\"\n  email = \"a@b.c\"\n" + more + "}\n"
	}
	resource.Test(t, resource.TestCase{
		ProtoV5ProviderFactories: five(),
		CheckDestroy:             gone(dir),
		Steps: []resource.TestStep{
			{
				Config: thing("  network {\n    cidr = \"10.0.0.0/8\"\n    peer {\n      name = \"p\"\n    }\n  }\n  settings {}\n"),
				Check: resource.ComposeAggregateTestCheckFunc(
					resource.TestCheckResourceAttr(addr, "size", "10"),
					resource.TestCheckResourceAttr(addr, "shout", "LOUD"),
					resource.TestCheckResourceAttr(addr, "network.#", "1"),
					resource.TestCheckResourceAttrSet(addr, "settings.0.hint"),
					resource.TestCheckTypeSetElemNestedAttrs(addr, "network.*", map[string]string{"cidr": "10.0.0.0/8", "peer.#": "1"}),
				),
			},
			{ResourceName: addr, ImportState: true, ImportStateVerify: true, ImportStateVerifyIgnore: []string{
				"comment", "email", "enabled", "etag", "network", "rule", "settings", "shout", "value", "weight", // Read of the resource does not set these attributes
			}},
			{Config: thing("  generation = 2\n"), ConfigPlanChecks: action(addr, plancheck.ResourceActionUpdate)},
			{Config: thing("  generation = 1\n"), ConfigPlanChecks: action(addr, plancheck.ResourceActionReplace)},
			{Config: strings.ReplaceAll(thing("  generation = 1\n"), "a@b.c", "A@B.C"), PlanOnly: true},
			{Config: thing("  generation = 1\n") + "resource \"playground5_legacy\" \"l\" {\n  name   = \"l\"\n  chosen = \"mine\"\n}\n", Check: resource.TestCheckResourceAttr("playground5_legacy.l", "chosen", "changed by the provider")},
			{Config: thing("  kind = \"k\"\n  password_wo = \"x\"\n  password_wo_version = 1\n"), ConfigPlanChecks: action(addr, plancheck.ResourceActionReplace), Check: resource.TestCheckNoResourceAttr(addr, "password_wo")},
		},
	})
}

// TestAcceptPair runs both providers in one configuration. A thing of one provider depends on a thing of the other.
func TestAcceptPair(t *testing.T) {
	dir := acceptance(t)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: six(),
		ProtoV5ProviderFactories: five(),
		CheckDestroy:             gone(dir),
		Steps: []resource.TestStep{
			{
				Config: "resource \"playground_thing\" \"a\" {\n  name = \"a\"\n}\nresource \"playground5_thing\" \"b\" {\n  name = playground_thing.a.value\n}\n",
				Check:  resource.TestCheckResourceAttr("playground5_thing.b", "name", "a/0"),
			},
			{Config: "resource \"playground5_thing\" \"b\" {\n  name = \"a/0\"\n}\n", ConfigPlanChecks: action("playground_thing.a", plancheck.ResourceActionDestroy)},
		},
	})
}
