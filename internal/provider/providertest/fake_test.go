package providertest

import (
	"testing"

	"github.com/lethe-iac/lethe/internal/provider"
)

// The fake itself is a provider like any other.
func TestFakeKeepsTheContract(t *testing.T) {
	Run(t, Contract{Open: func(_ *testing.T, far provider.Provider) provider.Provider { return far }})
}
