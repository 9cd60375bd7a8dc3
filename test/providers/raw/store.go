package raw

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// storeBlock is the schema of the state store rogue_store. It keeps states as files, NAME.tfstate, and NAME.lock while
// a state is locked. The rules in misbehave apply to every later call.
func storeBlock() *block {
	return &block{Attributes: []*attribute{
		required("directory", text), optional("misbehave", text), {Name: "token", Type: text, Optional: true, Sensitive: true},
	}}
}

// storeDeeds has the deeds that change answers about states.
var storeDeeds = map[string]deedFunc{
	// chunks spoils a stream: swap, twice, short, long, total, huge, diag.
	"chunks": func(_ context.Context, sc *scene, arg string) error {
		a, ok := sc.rest.(*tfprotov6.ReadStateBytesStream)
		if !ok {
			return sc.cannot("have chunks")
		}
		var all []tfprotov6.ReadStateByteChunk
		for c := range a.Chunks {
			all = append(all, c)
		}
		if len(all) > 1 {
			spoilChunks(all, arg, &all)
		}
		a.Chunks = func(yield func(tfprotov6.ReadStateByteChunk) bool) {
			for _, c := range all {
				if !yield(c) {
					return
				}
			}
		}
		return nil
	},
	// anonymous removes the ID of the lock from the answer.
	"anonymous": func(_ context.Context, sc *scene, _ string) error {
		a, ok := sc.rest.(*tfprotov6.LockStateResponse)
		if !ok {
			return sc.cannot("have a lock")
		}
		a.LockID = ""
		return nil
	},
	// duplicates lists each state twice, and names that are not names of workspaces.
	"duplicates": func(_ context.Context, sc *scene, _ string) error {
		a, ok := sc.rest.(*tfprotov6.GetStatesResponse)
		if !ok {
			return sc.cannot("have names")
		}
		a.StateIDs = append(append(a.StateIDs, a.StateIDs...), "", "a/b", "..")
		return nil
	},
}

// spoilChunks changes the chunks of a stream that has several. The parameter how names the fault. spoilChunks changes
// the chunks in place, and stores the new list in *to if the number of chunks changes. If the fault is unknown, it does
// nothing.
func spoilChunks(all []tfprotov6.ReadStateByteChunk, how string, to *[]tfprotov6.ReadStateByteChunk) {
	switch last := len(all) - 1; how {
	case "swap":
		all[0], all[1] = all[1], all[0]
	case "twice":
		*to = append([]tfprotov6.ReadStateByteChunk{all[0]}, all...)
	case "short":
		*to = all[:last]
	case "long":
		for i := range all {
			all[i].TotalLength--
		}
	case "total":
		all[last].TotalLength++
	case "huge":
		all[0].TotalLength = 1 << 40
	case "diag":
		all[last] = tfprotov6.ReadStateByteChunk{Diagnostics: []*tfprotov6.Diagnostic{{Severity: tfprotov6.DiagnosticSeverityError, Summary: "The disk is gone", Detail: "In the middle."}}}
	}
}

// chunk is the size that the provider chooses: a small one, so that every state has several chunks.
const chunk = 64

// stored returns the path of a file in the directory of the store.
func (r *rogue) stored(id, suffix string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return filepath.Join(r.dir, id+suffix)
}

// failure returns a diagnostic for an error, or nil for nil.
func failure(err error) []*tfprotov6.Diagnostic {
	if err == nil {
		return nil
	}
	return []*tfprotov6.Diagnostic{{Severity: tfprotov6.DiagnosticSeverityError, Summary: "The store failed", Detail: err.Error()}}
}

func (r *rogue) ValidateStateStoreConfig(ctx context.Context, q *tfprotov6.ValidateStateStoreConfigRequest) (*tfprotov6.ValidateStateStoreConfigResponse, error) {
	sc := r.scene(r.schemas.stores[q.TypeName], q.Config, "ValidateStateStoreConfig", "ValidateStore")
	sc.spec = ""
	return play(ctx, r, sc, func() (*tfprotov6.ValidateStateStoreConfigResponse, error) {
		a := &tfprotov6.ValidateStateStoreConfigResponse{}
		sc.diags = &a.Diagnostics
		return a, nil
	})
}

func (r *rogue) ConfigureStateStore(ctx context.Context, q *tfprotov6.ConfigureStateStoreRequest) (*tfprotov6.ConfigureStateStoreResponse, error) {
	sc := r.scene(r.schemas.stores[q.TypeName], q.Config, "ConfigureStateStore", "ConfigureStore")
	spec := sc.spec
	sc.spec = ""
	return play(ctx, r, sc, func() (*tfprotov6.ConfigureStateStoreResponse, error) {
		a := &tfprotov6.ConfigureStateStoreResponse{Capabilities: &tfprotov6.StateStoreServerCapabilities{ChunkSize: chunk}}
		sc.diags = &a.Diagnostics
		if err := r.configure(r.by(), spec); err != nil {
			return nil, err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.dir = str(look(sc.config), "directory")
		return a, os.MkdirAll(r.dir, 0o755)
	})
}

func (r *rogue) ReadStateBytes(ctx context.Context, q *tfprotov6.ReadStateBytesRequest) (*tfprotov6.ReadStateBytesStream, error) {
	sc := &scene{names: []string{"ReadStateBytes", "ReadState"}, key: q.StateID, secret: canary()}
	return play(ctx, r, sc, func() (*tfprotov6.ReadStateBytesStream, error) {
		data, err := os.ReadFile(r.stored(q.StateID, ".tfstate"))
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return &tfprotov6.ReadStateBytesStream{Chunks: func(yield func(tfprotov6.ReadStateByteChunk) bool) {
			if err != nil {
				yield(tfprotov6.ReadStateByteChunk{Diagnostics: failure(err)})
			}
			for start := 0; start < len(data); start += chunk {
				part := data[start:min(start+chunk, len(data))]
				if !yield(tfprotov6.ReadStateByteChunk{StateByteChunk: tfprotov6.StateByteChunk{
					Bytes: part, TotalLength: int64(len(data)), Range: tfprotov6.StateByteRange{Start: int64(start), End: int64(start + len(part) - 1)},
				}}) {
					return
				}
			}
		}}, nil
	})
}

func (r *rogue) WriteStateBytes(ctx context.Context, q *tfprotov6.WriteStateBytesStream) (*tfprotov6.WriteStateBytesResponse, error) {
	sc := &scene{names: []string{"WriteStateBytes", "WriteState"}, secret: canary()}
	return play(ctx, r, sc, func() (*tfprotov6.WriteStateBytesResponse, error) {
		a := &tfprotov6.WriteStateBytesResponse{}
		sc.diags = &a.Diagnostics
		id, data := "", []byte(nil)
		for c, ds := range q.Chunks {
			if len(ds) > 0 {
				return &tfprotov6.WriteStateBytesResponse{Diagnostics: ds}, nil
			}
			if c.Meta != nil {
				id = c.Meta.StateID
			}
			if at := int64(len(data)); c.Range.Start != at || c.Range.End != at+int64(len(c.Bytes))-1 || len(c.Bytes) > chunk {
				return nil, errors.New("a bad chunk at " + strconv.FormatInt(at, 10))
			}
			data = append(data, c.Bytes...)
		}
		a.Diagnostics = failure(os.WriteFile(r.stored(id, ".tfstate"), data, 0o600))
		return a, nil
	})
}

// LockState refuses a second lock without any information about the first one.
func (r *rogue) LockState(ctx context.Context, q *tfprotov6.LockStateRequest) (*tfprotov6.LockStateResponse, error) {
	sc := &scene{names: []string{"LockState", "Lock"}, key: q.StateID, secret: canary()}
	return play(ctx, r, sc, func() (*tfprotov6.LockStateResponse, error) {
		a := &tfprotov6.LockStateResponse{}
		sc.diags = &a.Diagnostics
		f, err := os.OpenFile(r.stored(q.StateID, ".lock"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			a.Diagnostics = failure(errors.New("it is busy"))
			return a, nil
		}
		a.LockID = "rogue-lock"
		return a, f.Close()
	})
}

func (r *rogue) UnlockState(ctx context.Context, q *tfprotov6.UnlockStateRequest) (*tfprotov6.UnlockStateResponse, error) {
	sc := &scene{names: []string{"UnlockState", "Unlock"}, key: q.StateID, secret: canary()}
	return play(ctx, r, sc, func() (*tfprotov6.UnlockStateResponse, error) {
		a := &tfprotov6.UnlockStateResponse{}
		sc.diags = &a.Diagnostics
		if q.LockID != "rogue-lock" {
			a.Diagnostics = failure(errors.New("there is no lock " + q.LockID))
			return a, nil
		}
		a.Diagnostics = failure(os.Remove(r.stored(q.StateID, ".lock")))
		return a, nil
	})
}

func (r *rogue) GetStates(ctx context.Context, _ *tfprotov6.GetStatesRequest) (*tfprotov6.GetStatesResponse, error) {
	sc := &scene{names: []string{"GetStates"}, secret: canary()}
	return play(ctx, r, sc, func() (*tfprotov6.GetStatesResponse, error) {
		a := &tfprotov6.GetStatesResponse{}
		sc.diags = &a.Diagnostics
		found, err := filepath.Glob(r.stored("*", ".tfstate"))
		for _, name := range found {
			a.StateIDs = append(a.StateIDs, strings.TrimSuffix(filepath.Base(name), ".tfstate"))
		}
		return a, err
	})
}

func (r *rogue) DeleteState(ctx context.Context, q *tfprotov6.DeleteStateRequest) (*tfprotov6.DeleteStateResponse, error) {
	sc := &scene{names: []string{"DeleteState"}, key: q.StateID, secret: canary()}
	return play(ctx, r, sc, func() (*tfprotov6.DeleteStateResponse, error) {
		a := &tfprotov6.DeleteStateResponse{Diagnostics: failure(os.Remove(r.stored(q.StateID, ".tfstate")))}
		sc.diags = &a.Diagnostics
		return a, nil
	})
}
