package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
)

// profile starts the profiles that LETHE_CPU_PROFILE and LETHE_HEAP_PROFILE request. It returns a function that writes
// them at the end. Profiles contain names of functions and counts, no values.
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

// create makes the file that an environment variable names; nil if it is not set, or cannot be.
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
