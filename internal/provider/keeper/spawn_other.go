//go:build !unix && !windows

package keeper

import "errors"

// Supported is true if a keeper can run on this system.
const Supported = false

// Argument is the only argument of a process that is to be a keeper. On this system no process uses it.
const Argument = "_keep"

var errUnsupported = errors.New("there are no keepers on this system")

// Spawn returns an error, because this system supports no keepers.
func Spawn(string, []string) (*Process, error) { return nil, errUnsupported }

// Main returns an error, because this system supports no keepers.
func Main(NewRecorder) error { return errUnsupported }
