//go:build !linux

package main

import "os/exec"

func adopt() {}

func orphans(*figures) {}

func watch(int) func() float64 { return func() float64 { return 0 } }

func end(*exec.Cmd) {}
