// Package wirepb is the provider protocol's messages as generated Go code, and nothing else.
//
// One set of messages serves protocols 5 and 6: provider.proto is the messages of major 6 that
// the client sends or receives, which are those of major 5 as well but for the numbers of a few
// fields of Schema.Attribute (message Attribute5). Only package wire, and the fake server that
// tests it, import this.
//
// The code is generated and committed; `go generate` needs protoc 3.21 or later with the
// well-known types, and protoc-gen-go in the version of google.golang.org/protobuf that go.mod
// names.
package wirepb

//go:generate protoc -I ../../../.. --go_out=../../../.. --go_opt=paths=source_relative internal/provider/wire/wirepb/provider.proto
