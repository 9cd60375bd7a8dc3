// Command provider is the provider of the benchmarks. It answers at once, counts its calls, and appends a line about
// itself to the file that BENCH_REPORT names when it ends.
//
// BENCH_SLEEP is a duration that each call takes that may reach an API. BENCH_TYPES is a number of large resource
// types in the schema. BENCH_OPTIONAL=1 announces that calls are possible before GetProviderSchema.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"
	"github.com/vmihailenco/msgpack/v5"
)

// calls counts the calls of this process by method.
var calls struct {
	sync.Mutex
	by map[string]int
}

// called counts a call of a method.
func called(method string) {
	calls.Lock()
	calls.by[method]++
	calls.Unlock()
}

// delay is the duration of calls that may reach an API.
var delay time.Duration

// api counts a call of a method that may reach an API, and sleeps for the delay.
func api(method string) {
	called(method)
	if delay > 0 {
		time.Sleep(delay)
	}
}

// object is a value of the wire protocol, one level deep: the caller changes attributes and leaves the others encoded.
type object map[string]msgpack.RawMessage

// decode returns an object of the wire protocol, or nil for null.
func decode(v *tfprotov6.DynamicValue) (object, error) {
	d := msgpack.NewDecoder(bytes.NewReader(v.MsgPack))
	n, err := d.DecodeMapLen()
	if n < 0 || err != nil {
		return nil, err
	}
	o := object{}
	for range n {
		name, err := d.DecodeString()
		if err != nil {
			return nil, err
		}
		value, err := d.DecodeRaw()
		if err != nil {
			return nil, err
		}
		o[name] = slices.Clone(value)
	}
	return o, nil
}

func encode(o object) (*tfprotov6.DynamicValue, error) {
	var e encoder
	e.object(o)
	return &tfprotov6.DynamicValue{MsgPack: e.bytes}, e.err
}

// encoder writes attributes in the order of their names, so that equal objects have equal bytes.
type encoder struct {
	bytes []byte
	err   error
}

func (e *encoder) put(v any) {
	b, err := msgpack.Marshal(v)
	e.bytes, e.err = append(e.bytes, b...), cmp.Or(e.err, err)
}

// head writes the type and size of a map (short 0x80, long 0xde) or list (0x90, 0xdc). n must be below 1<<16.
func (e *encoder) head(short, long byte, n int) {
	if n < 16 {
		e.bytes = append(e.bytes, short|byte(n))
		return
	}
	e.bytes = append(e.bytes, long, byte(n>>8), byte(n))
}

func (e *encoder) object(o object) {
	e.head(0x80, 0xde, len(o))
	for _, name := range slices.Sorted(maps.Keys(o)) {
		e.put(name)
		e.bytes = append(e.bytes, o[name]...)
	}
}

// json writes a value of a stored state, as encoding/json decodes it. It drops the fraction of a number.
func (e *encoder) json(v any) {
	switch v := v.(type) {
	case map[string]any:
		e.head(0x80, 0xde, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			e.put(name)
			e.json(v[name])
		}
	case []any:
		e.head(0x90, 0xdc, len(v))
		for _, element := range v {
			e.json(element)
		}
	case float64:
		e.put(int64(v))
	default:
		e.put(v)
	}
}

var (
	null    = msgpack.RawMessage{0xc0}
	unknown = msgpack.RawMessage{0xd4, 0, 0}
)

func text(s string) msgpack.RawMessage {
	b, _ := msgpack.Marshal(s) // msgpack.Marshal cannot fail for a string
	return b
}

func isNull(m msgpack.RawMessage) bool { return len(m) == 1 && m[0] == null[0] }

// set sets the attributes id and value to the arguments of the same names. It sets an attribute only if the object has
// it, and if from(v) is true for its present value v.
func (o object) set(from func(msgpack.RawMessage) bool, id, value msgpack.RawMessage) {
	if v, ok := o["id"]; ok && from(v) {
		o["id"] = id
	}
	if v, ok := o["value"]; ok && from(v) {
		o["value"] = value
	}
}

func isUnknown(m msgpack.RawMessage) bool { return len(m) == 3 && m[0] == unknown[0] }

type server struct {
	tfprotov6.ProviderServer // has the methods that server does not define; no benchmark calls them
	schema                   *tfprotov6.GetProviderSchemaResponse
}

// created numbers the objects of this process.
var created atomic.Int64

func (s *server) GetMetadata(context.Context, *tfprotov6.GetMetadataRequest) (*tfprotov6.GetMetadataResponse, error) {
	called("GetMetadata")
	return &tfprotov6.GetMetadataResponse{ServerCapabilities: s.schema.ServerCapabilities}, nil
}

func (s *server) GetProviderSchema(context.Context, *tfprotov6.GetProviderSchemaRequest) (*tfprotov6.GetProviderSchemaResponse, error) {
	called("GetProviderSchema")
	return s.schema, nil
}

func (s *server) GetResourceIdentitySchemas(context.Context, *tfprotov6.GetResourceIdentitySchemasRequest) (*tfprotov6.GetResourceIdentitySchemasResponse, error) {
	called("GetResourceIdentitySchemas")
	return &tfprotov6.GetResourceIdentitySchemasResponse{}, nil
}

func (s *server) GetFunctions(context.Context, *tfprotov6.GetFunctionsRequest) (*tfprotov6.GetFunctionsResponse, error) {
	called("GetFunctions")
	return &tfprotov6.GetFunctionsResponse{}, nil
}

func (s *server) ValidateProviderConfig(_ context.Context, r *tfprotov6.ValidateProviderConfigRequest) (*tfprotov6.ValidateProviderConfigResponse, error) {
	called("ValidateProviderConfig")
	return &tfprotov6.ValidateProviderConfigResponse{PreparedConfig: r.Config}, nil
}

func (s *server) ConfigureProvider(context.Context, *tfprotov6.ConfigureProviderRequest) (*tfprotov6.ConfigureProviderResponse, error) {
	called("ConfigureProvider")
	return &tfprotov6.ConfigureProviderResponse{}, nil
}

func (s *server) StopProvider(context.Context, *tfprotov6.StopProviderRequest) (*tfprotov6.StopProviderResponse, error) {
	called("StopProvider")
	return &tfprotov6.StopProviderResponse{}, nil
}

func (s *server) ValidateResourceConfig(context.Context, *tfprotov6.ValidateResourceConfigRequest) (*tfprotov6.ValidateResourceConfigResponse, error) {
	called("ValidateResourceConfig")
	return &tfprotov6.ValidateResourceConfigResponse{}, nil
}

func (s *server) UpgradeResourceState(_ context.Context, r *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.UpgradeResourceStateResponse, error) {
	called("UpgradeResourceState")
	var stored map[string]any
	if err := json.Unmarshal(r.RawState.JSON, &stored); err != nil {
		return nil, err
	}
	var e encoder
	e.json(stored)
	return &tfprotov6.UpgradeResourceStateResponse{UpgradedState: &tfprotov6.DynamicValue{MsgPack: e.bytes}}, e.err
}

func (s *server) ReadResource(_ context.Context, r *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	api("ReadResource")
	return &tfprotov6.ReadResourceResponse{NewState: r.CurrentState, Private: r.Private}, nil
}

func (s *server) PlanResourceChange(_ context.Context, r *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	api("PlanResourceChange")
	answer := &tfprotov6.PlanResourceChangeResponse{PlannedState: r.ProposedNewState, PlannedPrivate: r.PriorPrivate}
	o, err := decode(r.ProposedNewState)
	if err != nil || o == nil {
		return answer, err
	}
	o.set(isNull, unknown, unknown)
	if _, ok := o["secret_wo"]; ok {
		o["secret_wo"] = null
	}
	answer.PlannedState, err = encode(o)
	return answer, err
}

func (s *server) ApplyResourceChange(_ context.Context, r *tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	api("ApplyResourceChange")
	answer := &tfprotov6.ApplyResourceChangeResponse{NewState: r.PlannedState, Private: r.PlannedPrivate}
	o, err := decode(r.PlannedState)
	if err != nil || o == nil {
		return answer, err
	}
	id := text(fmt.Sprintf("id-%012d", created.Add(1)))
	o.set(isUnknown, id, id)
	answer.NewState, err = encode(o)
	return answer, err
}

func (s *server) ValidateDataResourceConfig(context.Context, *tfprotov6.ValidateDataResourceConfigRequest) (*tfprotov6.ValidateDataResourceConfigResponse, error) {
	called("ValidateDataResourceConfig")
	return &tfprotov6.ValidateDataResourceConfigResponse{}, nil
}

func (s *server) ReadDataSource(_ context.Context, r *tfprotov6.ReadDataSourceRequest) (*tfprotov6.ReadDataSourceResponse, error) {
	api("ReadDataSource")
	o, err := decode(r.Config)
	if err != nil {
		return nil, err
	}
	o.set(isNull, text("found"), text("known"))
	state, err := encode(o)
	return &tfprotov6.ReadDataSourceResponse{State: state}, err
}

func (s *server) ValidateEphemeralResourceConfig(context.Context, *tfprotov6.ValidateEphemeralResourceConfigRequest) (*tfprotov6.ValidateEphemeralResourceConfigResponse, error) {
	called("ValidateEphemeralResourceConfig")
	return &tfprotov6.ValidateEphemeralResourceConfigResponse{}, nil
}

func (s *server) OpenEphemeralResource(_ context.Context, r *tfprotov6.OpenEphemeralResourceRequest) (*tfprotov6.OpenEphemeralResourceResponse, error) {
	api("OpenEphemeralResource")
	o, err := decode(r.Config)
	if err != nil {
		return nil, err
	}
	var name string
	if err := msgpack.Unmarshal(o["name"], &name); err != nil {
		return nil, err
	}
	o.set(isNull, null, text("password-of-"+name))
	result, err := encode(o)
	return &tfprotov6.OpenEphemeralResourceResponse{Result: result}, err
}

func (s *server) RenewEphemeralResource(context.Context, *tfprotov6.RenewEphemeralResourceRequest) (*tfprotov6.RenewEphemeralResourceResponse, error) {
	api("RenewEphemeralResource")
	return &tfprotov6.RenewEphemeralResourceResponse{}, nil
}

func (s *server) CloseEphemeralResource(context.Context, *tfprotov6.CloseEphemeralResourceRequest) (*tfprotov6.CloseEphemeralResourceResponse, error) {
	api("CloseEphemeralResource")
	return &tfprotov6.CloseEphemeralResourceResponse{}, nil
}

// report appends a line with the calls of this process and its CPU seconds to a file. The driver reads the file.
func report(path string) error {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return err
	}
	seconds := time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
	calls.Lock()
	defer calls.Unlock()
	line, err := json.Marshal(map[string]any{"calls": calls.by, "cpu": seconds})
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return cmp.Or(err, f.Close())
}

// run serves the provider until the engine ends it, and then writes the report if BENCH_REPORT is set.
func run() error {
	types := 0
	for name, parse := range map[string]func(string) error{
		"BENCH_SLEEP": func(s string) (err error) { delay, err = time.ParseDuration(s); return err },
		"BENCH_TYPES": func(s string) (err error) { types, err = strconv.Atoi(s); return err },
	} {
		if s := os.Getenv(name); s != "" {
			if err := parse(s); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	calls.by = map[string]int{}
	s := &server{schema: schema(types, os.Getenv("BENCH_OPTIONAL") == "1")}
	if err := tf6server.Serve("example.com/bench/bench", func() tfprotov6.ProviderServer { return s }); err != nil {
		return err
	}
	if path := os.Getenv("BENCH_REPORT"); path != "" {
		return report(path)
	}
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
