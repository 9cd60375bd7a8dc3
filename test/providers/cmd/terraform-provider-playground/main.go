// Command terraform-provider-playground serves the playground provider over protocol 6.
package main

import (
	"log"

	"github.com/lethe-iac/lethe/test/providers/calls"
	"github.com/lethe-iac/lethe/test/providers/framework"
	"github.com/lethe-iac/lethe/test/providers/serve"
)

func main() {
	calls.EndWithParent()
	calls.SpareCollecting()
	book := calls.Open("playground", 6)
	book.Event("start")
	defer book.Event("exit")
	if err := serve.Protocol6("registry.opentofu.org/lethe/playground", framework.Server(book)); err != nil {
		log.Print(err)
	}
}
