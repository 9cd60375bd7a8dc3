// Command terraform-provider-playground serves the playground provider over protocol 6.
package main

import (
	"log"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"

	"github.com/lethe-iac/lethe/test/providers/calls"
	"github.com/lethe-iac/lethe/test/providers/framework"
)

func main() {
	calls.EndWithParent()
	book := calls.Open("playground", 6)
	book.Event("start")
	defer book.Event("exit")
	if err := tf6server.Serve("registry.opentofu.org/lethe/playground", framework.Server(book)); err != nil {
		log.Print(err)
	}
}
