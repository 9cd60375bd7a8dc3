package funcs

import (
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// TestNewerFunctions checks functions that Terraform 1.11.4 does not have, so that their answers cannot be recorded:
// functions of OpenTofu, and convert. The cases come from the documentation. "!" precedes the text of an error of a
// function, and "!!" the title of another error.
func TestNewerFunctions(t *testing.T) {
	ctx := peerContext(t)
	for expr, want := range map[string]string{
		`cidrcontains("192.168.2.0/20", "192.168.2.1")`:    `true`,
		`cidrcontains("192.168.2.0/20", "192.168.2.0/22")`: `true`,
		`cidrcontains("192.168.2.0/20", "192.126.2.1")`:    `false`,
		`cidrcontains("192.168.2.0/20", "192.126.2.0/18")`: `false`,
		`cidrcontains("192.168.0.0/24", "192.168.0.0/16")`: `false`,
		`cidrcontains("fe80::/48", "fe80::1")`:             `true`,
		`cidrcontains("fe80::/48", "fe81::1")`:             `false`,
		`cidrcontains("fe80::/48", "fe80::/64")`:           `true`,
		`cidrcontains("010.0.0.0/8", "010.001.002.003")`:   `true`,
		`cidrcontains("0.0.0.0/0", "255.255.255.255/32")`:  `true`,
		`cidrcontains("10.0.0.0/8", "fe80::1")`:            `! the two arguments are of different families: one is IPv4 and the other IPv6`,
		`cidrcontains("fe80::/48", "10.0.0.0/8")`:          `! the two arguments are of different families: one is IPv4 and the other IPv6`,
		`cidrcontains("10.0.0.0", "10.0.0.1")`:             `! invalid CIDR expression: invalid CIDR address: 10.0.0.0`,
		`cidrcontains("10.0.0.0/8", "nope")`:               `! not an IP address or a network in CIDR notation: nope`,
		`cidrcontains("10.0.0.0/8", "")`:                   `! not an IP address or a network in CIDR notation: `,
		`urldecode("Hello+World%21")`:                      `"Hello World!"`,
		`urldecode("%E2%98%83")`:                           `"☃"`,
		`urldecode("foo%3Abar%40localhost%3Ffoo%3Dbar")`:   `"foo:bar@localhost?foo=bar"`,
		`urldecode("")`:                  `""`,
		`urldecode("%ZZ")`:               `! failed to decode URL: invalid URL escape "%ZZ"`,
		`urldecode("%ff")`:               `! the result of decoding the provided string is not valid UTF-8`,
		`urldecode(urlencode("a b/ü&"))`: `"a b/ü&"`,
		`base64gunzip("H4sIAAAAAAAA/ypJLS4BAAAA//8BAAD//wx+f9gEAAAA")`:             `"test"`,
		`base64gunzip(base64gzip(""))`:                                             `""`,
		`base64gunzip(base64gzip("ü☃"))`:                                           `"ü☃"`,
		`base64gunzip("!!")`:                                                       `! failed to decode base64 data "!!"`,
		`base64gunzip("dGVzdA==")`:                                                 `! failed to read gzip data: unexpected EOF`,
		`base64gunzip("H4sIAAAAAAAA/ypJLS4BAAAA")`:                                 `! failed to read gzip data: unexpected EOF`,
		`convert("true", bool)`:                                                    `true`,
		`convert(1, string)`:                                                       `"1"`,
		`convert("x", any)`:                                                        `"x"`,
		`convert(null, string) == null`:                                            `true`,
		`jsonencode(convert(["1", 2], list(number)))`:                              `"[1,2]"`,
		`jsonencode(convert({}, object({ name = optional(string, "OpenTofu") })))`: `"{\"name\":\"OpenTofu\"}"`,
		`jsonencode(convert({ test = {} }, map(object({ a = optional(string), b = optional(string, "d") }))))`: `"{\"test\":{\"a\":null,\"b\":\"d\"}}"`,
		`jsonencode(convert({ a = 1, b = 2 }, object({ a = string })))`:                                        `"{\"a\":\"1\"}"`,
		`type(convert([], list(string)))`:                                                                      `list(string)`,
		`type(convert([], set(any)))`:                                                                          `set(dynamic)`,
		`convert(["a"], number)`:                                                                               `! number required, but have tuple`,
		`convert({}, object({ a = string }))`:                                                                  `! attribute "a" is required`,
		`convert("a", nosuch)`:                                                                                 `!! Invalid type specification`,
		`convert("a", list(nosuch))`:                                                                           `!! Invalid type specification`,
		`convert("a")`:                                                                                         `!! Not enough function arguments`,
		`element(["a", "b"], -1)`:                                                                              `"b"`,
		`contains([null], null)`:                                                                               `true`,
		`contains(["a"], null)`:                                                                                `false`,
		`core::urldecode("%20")`:                                                                               `" "`,
	} {
		if got := outcome(ctx, expr); got != want {
			t.Errorf("%s\n got  %s\n want %s", expr, got, want)
		}
	}
}

// outcome returns the value in the console's form, or the error.
func outcome(ctx *hcl.EvalContext, expr string) string {
	v, diags := eval(ctx, expr)
	if !diags.HasErrors() {
		return consoleText(v)
	}
	if reason, ok := reasonOf(diags[0]); ok {
		return "! " + reason
	}
	return "!! " + diags[0].Summary
}

// TestConvertOfUnknown checks that convert handles unknown and marked values like other conversions.
func TestConvertOfUnknown(t *testing.T) {
	ctx := with(peerContext(t), cty.UnknownVal(cty.String))
	for expr, want := range map[string]string{
		`type(convert(x, number))`: `number`, `type(convert([x], list(string)))`: `list(string)`,
		`type(convert({ a = x }, object({ a = number, b = optional(bool) })))`: `object({ a: number, b: bool, })`,
	} {
		if got := outcome(ctx, expr); got != want {
			t.Errorf("%s: %s", expr, got)
		}
	}
}
