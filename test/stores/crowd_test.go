package stores

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lethe-iac/lethe/internal/store/storetest"
)

// crowd is a configuration with many objects. Each worker creates one.
const crowd = `
variable "n" {
  type = number
}
resource "terraform_data" "w" {
  count = var.n
  provisioner "local-exec" {
    command = "sleep 0.0${count.index % 10}"
  }
}
`

// written records the serials of the states that a server accepted.
type written struct {
	sync.Mutex
	serials []int
}

// add records the serial of a state. It ignores a text that is no state.
func (w *written) add(state []byte) {
	var s struct{ Serial int }
	if json.Unmarshal(state, &s) == nil && s.Serial > 0 {
		w.Lock()
		w.serials = append(w.serials, s.Serial)
		w.Unlock()
	}
}

// around returns a handler that calls next and records the states of accepted writes.
func (w *written) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost && r.Method != http.MethodPut {
			next.ServeHTTP(out, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		got := httptest.NewRecorder()
		next.ServeHTTP(got, r)
		if got.Code/100 == 2 {
			w.add(body)
		}
		for name, values := range got.Header() {
			out.Header()[name] = values
		}
		out.WriteHeader(got.Code)
		out.Write(got.Body.Bytes())
	})
}

// TestCrowd lets many machines change one state, and kills a third of them. Each killed run is repeated. No created
// object is lost, and each write has a serial.
func TestCrowd(t *testing.T) {
	ours, err := lethe()
	check(t, err)
	n := 8
	if os.Getenv("LETHE_LONG") != "" {
		n = 100
	}
	t.Run("http", func(t *testing.T) {
		w := &written{}
		server := httptest.NewServer(w.around(&storetest.HTTP{}))
		t.Cleanup(server.Close)
		runCrowd(t, ours, n, place{"terraform {\n  backend \"http\" {}\n}\n", []string{"TF_HTTP_ADDRESS=" + server.URL, "TF_HTTP_LOCK_ADDRESS=" + server.URL, "TF_HTTP_UNLOCK_ADDRESS=" + server.URL}})
		consecutive(t, w.serials)
	})
	for name, setting := range map[string]string{"s3": "", "s3 with journals": journalOn} {
		t.Run(name, func(t *testing.T) {
			w := &written{}
			url := startS3(t, w.around)
			runCrowd(t, ours, n, s3Place(url, "a", setting))
			consecutive(t, w.serials)
			none(t, url)
		})
	}
	t.Run("pg in rows", func(t *testing.T) { crowdInRows(t, ours, n) })
	t.Run("pg", func(t *testing.T) {
		port := startPostgres(t)
		c, err := pgconn.Connect(ctx, "postgres://postgres@127.0.0.1:"+port+"/postgres?sslmode=disable")
		check(t, err)
		defer c.Close(ctx)
		exec := func(sql string) []*pgconn.Result {
			t.Helper()
			all, err := c.Exec(ctx, sql).ReadAll()
			check(t, err)
			return all
		}
		exec(`CREATE SCHEMA crowd; CREATE SEQUENCE public.global_states_id_seq; CREATE TABLE crowd.states (id bigint NOT NULL DEFAULT nextval('public.global_states_id_seq') PRIMARY KEY, name text UNIQUE, data text);
CREATE TABLE serials (n serial, data text); CREATE FUNCTION note() RETURNS trigger AS $$ BEGIN INSERT INTO serials (data) VALUES (NEW.data); RETURN NEW; END $$ LANGUAGE plpgsql;
CREATE TRIGGER note AFTER INSERT OR UPDATE ON crowd.states FOR EACH ROW EXECUTE FUNCTION note()`)
		runCrowd(t, ours, n, place{"terraform {\n  backend \"pg\" {\n    schema_name = \"crowd\"\n  }\n}\n", []string{"PG_CONN_STR=postgres://postgres@127.0.0.1:" + port + "/postgres?sslmode=disable"}})
		w := &written{}
		for _, row := range exec(`SELECT data FROM serials ORDER BY n`)[0].Rows {
			w.add(row[0])
		}
		consecutive(t, w.serials)
	})
}

// TestQueue checks that twenty short applies that start together and wait for each other all succeed quickly. Each
// tries to take the lock while another releases it.
func TestQueue(t *testing.T) {
	t.Parallel()
	ours, err := lethe()
	check(t, err)
	all := places(t)
	for _, name := range []string{"s3 with a lock object", "s3 with a table", "http", "pg", "gcs", "consul", "kubernetes", "azurerm"} {
		t.Run(name, func(t *testing.T) {
			const n = 20
			var wg sync.WaitGroup
			begun := time.Now()
			for i := range n {
				d := newDirectory(t, ours, all[name])
				d.configure("resource \"terraform_data\" \"w\" {\n  count = 20\n}\n" + all[name].backend)
				wg.Go(func() {
					if out, err := d.cmd("apply", "-auto-approve", "-lock-timeout=5m", fmt.Sprintf("-target=terraform_data.w[%d]", i)).CombinedOutput(); err != nil {
						t.Errorf("worker %d: %v\n%s", i, err, out)
					}
				})
			}
			wg.Wait()
			took := time.Since(begun)
			t.Log(took)
			if took > 30*time.Second {
				t.Errorf("%d applies took %v", n, took)
			}
			last := newDirectory(t, ours, all[name])
			if list := strings.Fields(last.run(0, "state", "list")); len(list) != n {
				t.Errorf("%d objects are in the state: %s", len(list), list)
			}
		})
	}
}

// crowdInRows runs the crowd on a state with the layout rows, and checks that the serials of the versions have no gaps
// and that the state has a row for each object.
func crowdInRows(t *testing.T, program string, n int) {
	port := startPostgres(t)
	runCrowd(t, program, n, rowsPlace(port, "crowd"))
	var serials []int
	for _, text := range strings.Fields(query(t, port, `SELECT string_agg(serial::text, ' ' ORDER BY number) FROM crowd.states_versions`)) {
		serial, err := strconv.Atoi(text)
		check(t, err)
		serials = append(serials, serial)
	}
	consecutive(t, serials)
	if rows := query(t, port, `SELECT count(*) FROM crowd.states_objects WHERE until IS NULL`); rows != strconv.Itoa(n) {
		t.Errorf("there are %s rows, not %d", rows, n)
	}
}

// consecutive checks that the serials of the writes are consecutive and begin at 1.
func consecutive(t *testing.T, serials []int) {
	t.Helper()
	for i, s := range serials {
		if s != i+1 {
			t.Fatalf("the serials are %v", serials)
		}
	}
	t.Logf("%d writings", len(serials))
}

// runCrowd runs n workers at once on the state of a place, and checks that the state has the objects of all. It kills
// every third worker after a random time, and runs it again.
func runCrowd(t *testing.T, program string, n int, p place) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	kills := 0
	for i := range n {
		d := &directory{t, program, t.TempDir(), append(os.Environ(), append(p.env, "TF_INPUT=0", "TF_CLI_CONFIG_FILE="+os.DevNull, "TF_VAR_n="+strconv.Itoa(n))...)}
		check(t, os.WriteFile(filepath.Join(d.dir, "main.tf"), []byte(crowd+p.backend), 0o600))
		d.run(0, "init")
		wg.Go(func() {
			args := []string{"apply", "-auto-approve", "-lock-timeout=10m", fmt.Sprintf("-target=terraform_data.w[%d]", i)}
			if i%3 == 0 {
				cmd := d.cmd(args...)
				if err := cmd.Start(); err != nil {
					t.Error(err)
					return
				}
				over := make(chan error, 1)
				go func() { over <- cmd.Wait() }()
				select {
				case <-time.After(time.Duration(rand.N(600)) * time.Millisecond):
					_ = cmd.Process.Kill()
					<-over
					mu.Lock()
					kills++
					mu.Unlock()
				case <-over:
				}
				unlockOwn(d, cmd.Process.Pid)
			}
			if out, err := d.cmd(args...).CombinedOutput(); err != nil {
				t.Errorf("worker %d: %v\n%s", i, err, out)
			}
		})
	}
	wg.Wait()
	t.Logf("%d workers, %d of them killed", n, kills)
	last := &directory{t, program, t.TempDir(), append(os.Environ(), append(p.env, "TF_INPUT=0", "TF_CLI_CONFIG_FILE="+os.DevNull, "TF_VAR_n="+strconv.Itoa(n))...)}
	check(t, os.WriteFile(filepath.Join(last.dir, "main.tf"), []byte(crowd+p.backend), 0o600))
	last.run(0, "init")
	if list := strings.Fields(last.run(0, "state", "list")); len(list) != n {
		t.Errorf("%d objects are in the state, not %d: %s", len(list), n, list)
	}
}

// unlockOwn releases the lock of a killed process if the lock outlives the process.
func unlockOwn(d *directory, pid int) {
	out, _ := d.cmd("plan", "-no-color", "-refresh=false").CombinedOutput()
	if _, about, locked := strings.Cut(string(out), "  ID: "); locked && strings.Contains(about, fmt.Sprintf("process %d\n", pid)) {
		id, _, _ := strings.Cut(strings.TrimSpace(about), "\n")
		d.run(0, "force-unlock", "-force", id)
	}
}
