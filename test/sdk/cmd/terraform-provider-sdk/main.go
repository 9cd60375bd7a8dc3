// Command terraform-provider-sdk is the provider "fw" of protocol 6 if its file name ends in "fw", and the provider "old"
// of protocol 5 otherwise.
package main

import (
	"log"
	"os"
	"strings"

	"github.com/lethe-iac/lethe/test/providers/serve"
	"github.com/lethe-iac/lethe/test/sdk/provider"
)

func main() {
	var err error
	if strings.HasSuffix(os.Args[0], "fw") {
		err = serve.Protocol6("example.com/sdk/fw", provider.Framework)
	} else {
		err = serve.Protocol5("example.com/sdk/old", provider.Old)
	}
	if err != nil {
		log.Fatal(err)
	}
}
