// Command lethe plans and applies infrastructure described in the Terraform/OpenTofu language.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli"
	"github.com/lethe-iac/lethe/internal/provider/builtin/lethe"
	"github.com/lethe-iac/lethe/internal/provider/keeper"
	"github.com/lethe-iac/lethe/internal/provider/plugin"
	"github.com/lethe-iac/lethe/internal/subprocess"
)

func main() {
	if plugin.Hosted(os.Args) {
		os.Exit(run(serve))
	}
	if code, first := keeper.First(os.Args, os.Environ()); first {
		os.Exit(code)
	}
	os.Exit(run(command))
}

// run runs a main function in the working directory. It returns the exit code.
func run(main func(dir string) int) int {
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintf(os.Stderr, "Error: the working directory cannot be determined: %s\n", err)
		return 1
	}
	return main(dir)
}

// serve runs the built-in provider as a plugin that another program has started.
func serve(dir string) int {
	return plugin.Serve(lethe.New(lethe.Options{Address: addr.Published(), Dir: dir}))
}

func command(dir string) int {
	cli.Collect()
	defer profile()()
	return cli.Main(cli.Env{
		Args: os.Args[1:], Program: os.Args[0], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Dir: dir, Environ: os.Environ(), Now: time.Now, Signals: cli.Signals(), Hide: subprocess.Hide, Enter: os.Chdir,
		Keeper: func() (*keeper.Process, error) { return keeper.Spawn(os.Args[0], os.Environ()) },
	})
}
