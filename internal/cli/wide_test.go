package cli_test

import (
	"os"
	"slices"
	"testing"
)

// wide reports whether the tests run that cover more cases of a rule. .ci/run sets LETHE_WIDE in its second lane.
func wide() bool { return os.Getenv("LETHE_WIDE") != "" || whole() }

// TestWide repeats tests of this package in more ways, and runs the slow scripts. It takes about as long as all other
// tests of the package.
func TestWide(t *testing.T) {
	if !wide() {
		t.Skip("LETHE_WIDE=1 runs these tests")
	}
	for name, test := range map[string]func(*testing.T){
		"AttributesOfEveryKind": testAttributesOfEveryKind,
		"Places":                testPlaces,
		"Scripts":               testSlowScripts,
		"WithoutShortcuts":      testWithoutShortcuts,
	} {
		t.Run(name, test)
	}
}

// slowScripts lists the scripts that take seconds of processor time or wait for seconds, by the reason.
var slowScripts = map[string][]string{
	"it derives keys from passphrases again and again": {
		"actions/encryption", "encryption/commands", "encryption/errored", "encryption/first", "encryption/lifecycle", "encryption/service",
		"encryption/variable", "secrets/encrypted", "secrets/move_encrypted", "secrets/scrub_encrypted", "secrets/scrub_other_key", "transfer/encrypted",
	},
	"it computes many digests of secrets": {"builtin/secret_version", "builtin/secret_version_generator"},
	"it runs Terraform again and again":   {"builtin/plugin_of_terraform", "data/forget_all_with_terraform", "init/not_needed"},
	"it installs again and again":         {"init/providers_installed_and_mirrored", "init/providers_lock_and_mirror", "init/vendor"},
	"it waits for seconds":                {"actions/streams", "ephemeral_resources/renew_fails", "init/login", "provisioners/parallelism", "query/misdeeds", "test/long"},
}

// slowness returns the reason why a script is slow, or "" for the other scripts.
func slowness(name string) string {
	for reason, list := range slowScripts {
		if slices.Contains(list, name) {
			return reason
		}
	}
	return ""
}

// testSlowScripts runs the scripts that TestScripts skips.
func testSlowScripts(t *testing.T) {
	if whole() {
		t.Skip("with LETHE_LONG, TestScripts runs them")
	}
	t.Parallel()
	var list []script
	for _, s := range scripts(t) {
		if slowness(s.folder+"/"+s.name) != "" {
			list = append(list, s)
		}
	}
	n := 0
	for _, names := range slowScripts {
		n += len(names)
	}
	if len(list) != n {
		t.Errorf("%d of %d slow scripts exist", len(list), n)
	}
	p := params(setup)
	p.Cmds["sshd"] = sshd(t)
	servers(t, p)
	runScripts(t, p, list)
}
