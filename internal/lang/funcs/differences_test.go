package funcs

import (
	"maps"
	"slices"
	"testing"
)

// difference is an answer of Lethe that differs from Terraform 1.11.4, and the reason.
type difference struct{ want, why string }

const (
	newerCty   = "a mistake of the cty library that Terraform 1.11.4 was built with; Terraform 1.12 and OpenTofu 1.12 answer as we do"
	newerRules = "allowed by Terraform 1.16 and OpenTofu 1.13"
	tofuRules  = "allowed by OpenTofu since 1.7"
	newerCIDR  = "the peers compute an address outside of the network; the cidr library has since made it an error"
	static     = "found before evaluation, by the static checks of package lang"
	moreKnown  = "more is known of the result than Terraform says"
	exactPower = "exact: Terraform's number has another text than its value, so that it cannot be applied"
	newerGo    = "the names of character classes that Go 1.25 added"
)

var differences = map[string]difference{
	`cidrhost("fd00:fd12:3456:7890::/64", 18446744073709551616)`: {"! Error in function call", newerCIDR},
	`cidrsubnet("fe80::/48", 16, -1)`:                            {"! Error in function call", newerCIDR},
	`cidrsubnet("10.1.2.0/24", 2, -1)`:                           {"! Error in function call", newerCIDR},
	`contains(["a", null], null)`:                                {`= "bool" true`, newerRules},
	`element(["a", "b", "c"], -1)`:                               {`= "string" "c"`, newerCty},
	`element(["a", "b", "c"], -4)`:                               {`= "string" "c"`, newerCty},
	`jsondecode("{\"a\":1,\"a\":\"x\"}")`:                        {"! Error in function call", newerCty},
	`yamldecode("x: [{a: 1}, {b: 2}]\ny:\n  <<: [{a: 1}, {b: 2}]\n")`: {
		`= ["object",{"true":["object",{"a":"number","b":"number"}],"x":["tuple",[["object",{"a":"number"}],["object",{"b":"number"}]]]}] ` +
			`{"true":{"a":1,"b":2},"x":[{"a":1},{"b":2}]}`, "YAML merge sequences, as in OpenTofu 1.12"},
	`templatefile("data/outer.tmpl", {y = 5})`:  {`= "string" "in: 5"`, tofuRules},
	`templatefile("data/tstr.tmpl", {x = "a"})`: {`= "string" "a"`, tofuRules},
	`format("%v", null)`:                        {`= "string" "null"`, newerCty},
	`format("%s", null)`:                        {"! Error in function call", newerCty},
	`format("%d", null)`:                        {"! Error in function call", newerCty},
	`formatlist("%s", null)`:                    {"! Error in function call", newerCty},
	`pow(2, 100)`:                               {`= "number" 1267650600228229401496703205376`, exactPower},
	`regex("\\p{Letter}+", "abc")`:              {`= "string" "abc"`, newerGo},
	`core::nosuch("a")`:                         {"! Call to unknown function", static},
	`templatestring(missing.tpl, {})`:           {"! Invalid function argument", static},
	`can(local.nothere)`:                        {`= "bool" false`, static},
	`type(format("%s", local.ud))`:              {"= console string", newerCty},
	`format("%s", local.ud) == null`:            {"= console false", newerCty},
	`type(formatlist("%s", local.ud))`:          {"= console list(string)", newerCty},
	`formatlist("%s", local.ud) == null`:        {"= console false", newerCty},
	`strcontains(local.us, "a") == null`:        {"= console false", moreKnown},
	`issensitive(local.us) == null`:             {"= console false", moreKnown},
	`yamlencode(local.us) == null`:              {"= console false", moreKnown},
	`yamlencode({a = local.us}) == null`:        {"= console false", moreKnown},
	`timeadd(local.us, "1h") == null`:           {"= console false", moreKnown},
	`alltrue([tobool(local.us), false])`:        {"= console false", moreKnown},
	`templatefile("data/just.tmpl", {x = local.us}) == null`: {
		"= console false", moreKnown + ": a template that renders to null is an error"},
}

// TestDifferencesAreRecorded checks that each difference belongs to a recorded expression. Delete a difference that
// does not.
func TestDifferencesAreRecorded(t *testing.T) {
	asked := map[string]bool{}
	for _, file := range peerFiles(t) {
		cases, _ := readGolden(t, file)
		for _, c := range cases {
			asked[c.expr] = true
		}
	}
	for _, expr := range slices.Sorted(maps.Keys(differences)) {
		if !asked[expr] {
			t.Errorf("no such expression: %s", expr)
		}
	}
}
