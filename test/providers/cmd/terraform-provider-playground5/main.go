// Command terraform-provider-playground5 serves the playground provider of package sdkv2 over protocol 5. A mux server
// adds ephemeral resources, which the SDK does not have.
package main

import (
	"context"
	"log"

	"github.com/hashicorp/terraform-plugin-go/tfprotov5/tf5server"

	"github.com/lethe-iac/lethe/test/providers/calls"
	"github.com/lethe-iac/lethe/test/providers/sdkv2"
)

func main() {
	calls.EndWithParent()
	calls.SpareCollecting()
	book := calls.Open("playground5", 5)
	book.Event("start")
	defer book.Event("exit")
	server, err := sdkv2.Server(context.Background(), book)
	if err != nil {
		log.Fatal(err)
	}
	if err := tf5server.Serve("registry.opentofu.org/lethe/playground5", server); err != nil {
		log.Print(err)
	}
}
