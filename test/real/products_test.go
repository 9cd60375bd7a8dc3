package real

import "github.com/lethe-iac/lethe/test/providers/source"

// suite is a provider with its acceptance tests.
type suite struct {
	*product
	needs   []string          // other providers of suites that the tests use
	before  []string          // versions from which the tests upgrade, which must be installable
	only    string            // a pattern for the tests to run; "": all tests
	sample  string            // a pattern for the tests that always run; with LETHE_LONG, all tests run
	least   [2]int            // minimum number of passed tests: of the sample, and of all tests
	leftOut map[string]string // tests that are known to fail: the reason, by pattern
	skips   map[string]string // tests that skip themselves at this level of the language: the reason, by pattern; nil: skips are not compared
	depends map[string]string // tests whose result depends on the machine: the reason, by pattern
	server  bool              // the tests need a PostgreSQL server
}

const wantsOld = "wants the program of the version that it upgrades from, which did otherwise (fails with Terraform, too)"

// suites are current versions of the providers. A version without a tag that Go knows has Go's name for its commit. A
// version that the module proxy does not have is skipped with a message.
var suites = []suite{
	{
		product: newProduct(product{
			name: "random", version: "3.9.0", tests: "./internal/provider",
			Module: source.Module{Path: "github.com/terraform-providers/terraform-provider-random", Version: "v1.3.2-0.20260513075824-f8d869dc98d9"},
		}),
		before:  []string{"2.2.1", "3.1.3", "3.2.0", "3.3.2", "3.4.2"},
		sample:  "^(TestAccEphemeral|TestAccResourceID)",
		least:   [2]int{15, 225},
		leftOut: map[string]string{"TestAccResource*_Keepers_FrameworkMigration_Null*": wantsOld},
		depends: map[string]string{"TestAccResource*_FromVersion*": wantsOld, "TestAccResource*_StateUpgradeV*": wantsOld},
	},
	{
		product: newProduct(product{
			name: "local", version: "2.9.0", tests: "./internal/provider",
			Module: source.Module{Path: "github.com/terraform-providers/terraform-provider-local", Version: "v1.4.1-0.20260513075820-3561e410f9fe"},
		}),
		before:  []string{"2.2.3"},
		sample:  "^TestLocalCommand(Ephemeral|DataSource)",
		least:   [2]int{15, 40},
		depends: map[string]string{"TestDirectoryExists_invalid_symlink": "a link in the checkout, which Go modules do not have"},
	},
	{
		product: newProduct(product{
			name: "time", version: "0.14.2", tests: "./internal/provider",
			Module: source.Module{Path: "github.com/hashicorp/terraform-provider-time", Version: "v0.14.2"},
		}),
		before: []string{"0.8.0"},
		sample: "^TestAccTime(Offset|Static)",
		least:  [2]int{5, 50},
	},
	{
		product: newProduct(product{
			name: "tls", version: "4.2.1", tests: "./internal/provider",
			Module: source.Module{Path: "github.com/hashicorp/terraform-provider-tls", Version: "v1.2.1-0.20260130152455-857b38cda3fc", Sum: "h1:iCzlbH6QDWzO5ecjT4tbXkZv5tHEXC/eCipm1KzZ2Qk="},
		}),
		before: []string{"3.1.0", "3.4.0", "4.1.0", "4.2.0"},
		sample: "^(TestAccEphemeral|TestPublicKey_|TestProvider_)",
		least:  [2]int{10, 73},
		depends: map[string]string{
			"TestAcc*_UpgradeFromVersion*":                                      wantsOld,
			"TestAccDataSourceCertificate_DevDot":                               "the internet",
			"TestDataSourceCertificate_UnknownComputedCertificatesUntilApplied": "the internet",
			"TestDataSourceCertificate_HTTPSSchemeViaProxyButNoProxyAvailable":  "a machine whose localhost is ::1 first",
		},
	},
	{
		product: newProduct(product{
			name: "cloudinit", version: "2.3.5", tests: "./internal/provider",
			Module: source.Module{Path: "github.com/hashicorp/terraform-provider-cloudinit", Version: "v1.0.1-0.20240910114655-9216daa4c24b", Sum: "h1:MaFTEqSMWUXuOVuhNYOvtrPTyzZcigzyIKTprVDKoMo="},
		}),
		before: []string{"2.2.0"},
		least:  [2]int{8, 8},
	},
	{
		product: newProduct(product{
			name: "null", version: "3.3.1", tests: "./internal/provider",
			Module: source.Module{Path: "github.com/terraform-providers/terraform-provider-null", Version: "v1.0.1-0.20260814132742-cd8ea3464380"},
		}),
		before:  []string{"3.1.1"},
		sample:  "^TestAcc(DataSource|Resource)_",
		least:   [2]int{4, 19},
		leftOut: map[string]string{"TestAccResource_Triggers_FrameworkMigration_Null*": wantsOld},
	},
	{
		product: newProduct(product{
			name: "http", version: "3.6.0", tests: "./internal/provider",
			Module: source.Module{Path: "github.com/terraform-providers/terraform-provider-http", Version: "v1.2.1-0.20260513075814-520400d4b2c0"},
		}),
		needs:  []string{"null"},
		before: []string{"2.2.0", "3.1.1"},
		sample: "^TestDataSource_(200|404|with|utf)",
		least:  [2]int{5, 25},
	},
	{
		product: newProduct(product{
			name: "archive", version: "2.8.0", tests: "./internal/provider",
			Module: source.Module{Path: "github.com/hashicorp/terraform-provider-archive", Version: "v1.3.1-0.20260513075758-bf198ddd1bdb"},
		}),
		before: []string{"2.2.0"},
		sample: "^(TestAccTarGzArchiveFile_Basic|TestDataSource_Upgrade)",
		least:  [2]int{5, 100},
	},
	{
		product: newProduct(product{
			name: "external", version: "2.4.0", tests: "./internal/provider",
			Module: source.Module{Path: "github.com/terraform-providers/terraform-provider-external", Version: "v1.2.1-0.20260513075810-70b9be6c3cfe"},
		}),
		before: []string{"2.2.3"},
		least:  [2]int{8, 8},
	},
	{
		product: newProduct(product{
			name: "postgresql", owner: "cyrilgdn", version: "1.26.0", tests: "./postgresql",
			Module: source.Module{Path: "github.com/terraform-providers/terraform-provider-postgresql", Version: "v1.26.0"},
		}),
		sample: "^TestAccPostgresqlRole_",
		least:  [2]int{5, 84},
		depends: map[string]string{
			"TestAccPostgresqlDatabase_Basic":        "the locale en_US.UTF-8",
			"TestAccPostgresqlDatabase_DefaultOwner": "the locale en_US.UTF-8",
			"TestAccPostgresqlSecurityLabel_*":       "a test module of the server's own source, dummy_seclabel",
			"TestAccPostgresqlSubscription_*":        "a server at the default port",
		},
		server: true,
	},
}

// suiteOf returns the suite of the provider with a name. It panics if no suite has this name.
func suiteOf(name string) suite {
	for _, s := range suites {
		if s.name == name {
			return s
		}
	}
	panic(name)
}
