// Package wirepb has the messages of the provider protocol as generated Go code. Only package wire and its inner
// package serve import it.
//
// The same messages serve protocols 5 and 6. provider.proto has the messages of protocol 6 that the client sends or
// receives. In protocol 5, only some fields of Schema.Attribute have other numbers: see the message Attribute5.
//
// The generated code is committed. `go generate` needs protoc 3.21 or later with the well-known types, and
// protoc-gen-go in the version of google.golang.org/protobuf in go.mod.
package wirepb

//go:generate protoc -I ../../../.. --go_out=../../../.. --go_opt=paths=source_relative internal/provider/wire/wirepb/provider.proto
