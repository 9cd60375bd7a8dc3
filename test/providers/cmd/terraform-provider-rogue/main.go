// Command terraform-provider-rogue serves the provider of package raw, which breaks rules of the protocol when a
// configuration asks for it. It uses protocol 6 or, if PLAYGROUND_ROGUE_PROTOCOL is 5, protocol 5.
package main

import (
	"context"
	"log"
	"os"

	"github.com/lethe-iac/lethe/test/providers/calls"
	"github.com/lethe-iac/lethe/test/providers/raw"
	"github.com/lethe-iac/lethe/test/providers/serve"
)

const address = "registry.opentofu.org/lethe/rogue"

func main() {
	calls.EndWithParent()
	calls.SpareCollecting()
	raw.Start()
	if err := speak(); err != nil {
		log.Fatal(err)
	}
}

func speak() error {
	if os.Getenv(raw.EnvProtocol) != "5" {
		book := calls.Open("rogue", 6)
		book.Event("start")
		defer book.Event("exit")
		return serve.Protocol6(address, raw.Server6(book))
	}
	book := calls.Open("rogue", 5)
	book.Event("start")
	defer book.Event("exit")
	server, err := raw.Server5(context.Background(), book)
	if err != nil {
		return err
	}
	return serve.Protocol5(address, server)
}
