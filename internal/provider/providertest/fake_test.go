package providertest

import (
	"testing"

	"github.com/lethe-iac/lethe/internal/provider"
)

// TestFakeKeepsTheContract checks that a Fake passes the tests of Run without a transport.
func TestFakeKeepsTheContract(t *testing.T) {
	Run(t, Contract{Open: func(_ *testing.T, far provider.Provider) provider.Provider { return far }})
}
