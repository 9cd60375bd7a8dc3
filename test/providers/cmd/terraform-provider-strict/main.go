// Command terraform-provider-strict serves the provider of package strict, whose provider block has a required argument,
// over protocol 6.
package main

import (
	"log"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"

	"github.com/lethe-iac/lethe/test/providers/calls"
	"github.com/lethe-iac/lethe/test/providers/strict"
)

func main() {
	calls.EndWithParent()
	calls.SpareCollecting()
	book := calls.Open("strict", 6)
	book.Event("start")
	defer book.Event("exit")
	if err := tf6server.Serve("registry.opentofu.org/lethe/strict", strict.Server(book)); err != nil {
		log.Print(err)
	}
}
