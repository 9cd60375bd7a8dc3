// Command terraform-provider-combine serves the provider of the scenarios as a process: for scripts that show a fault,
// and for scenarios in which it crashes. The environment variable COMBINE_CLOUD names the directory of the cloud.
package main

import (
	"log"
	"os"
	"syscall"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"

	"github.com/lethe-iac/lethe/test/combine/box"
	"github.com/lethe-iac/lethe/test/combine/cloud"
)

func main() {
	c := &cloud.Cloud{Dir: os.Getenv(cloud.Env), Interrupt: func() {
		_ = syscall.Kill(os.Getppid(), syscall.SIGINT)
		time.Sleep(100 * time.Millisecond) // the engine must see the signal before the provider's answer
	}, Kill: func(both bool) { cloud.KillEngine(cloud.Engine(os.Getppid()), both) }}
	if c.Dir == "" {
		log.Fatal(cloud.Env + " names no directory")
	}
	p := &box.Provider{Cloud: c}
	if err := tf6server.Serve("registry.terraform.io/"+box.Address, func() tfprotov6.ProviderServer { return p }); err != nil {
		log.Fatal(err)
	}
}
