package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
)

// profile starts the profiles that LETHE_CPU_PROFILE and LETHE_HEAP_PROFILE request, whose values are the paths of the
// files. It returns a function that finishes them: the caller calls it before the program ends. If a profile cannot be
// made, it prints an error and continues. A profile has names of functions and counts, but no values of the
// configuration or the state.
func profile() func() {
	done := func() {}
	if f := create("LETHE_CPU_PROFILE"); f != nil {
		if err := pprof.StartCPUProfile(f); err != nil {
			fmt.Fprintf(os.Stderr, "Error: the profile cannot be taken: %s\n", err)
		}
		done = func() { pprof.StopCPUProfile(); f.Close() }
	}
	if f := create("LETHE_HEAP_PROFILE"); f != nil {
		runtime.MemProfileRate = 16 << 10
		before := done
		done = func() { before(); _ = pprof.Lookup("allocs").WriteTo(f, 0); f.Close() }
	}
	return done
}

// create creates or truncates the file whose name is the value of an environment variable. If the variable is not set,
// create returns nil. If the file cannot be created, create writes the error to standard error and returns nil: the
// command runs without the profile.
func create(name string) *os.File {
	path := os.Getenv(name)
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintf(os.Stderr, "Error: %s: %s\n", name, err)
		return nil
	}
	return f
}
