package stores

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/store"
	"golang.org/x/tools/txtar"
)

// document returns a state of n objects in the layout that programs write. Each object has a text of size bytes. The ID
// of the object with the number n/2 ends with the text in the parameter changed.
func document(serial, n, size int, changed string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\n  \"version\": 4,\n  \"terraform_version\": \"1.12.0\",\n  \"serial\": %d,\n  \"lineage\": \"l\",\n  \"outputs\": {},\n  \"resources\": [", serial)
	text := strings.Repeat("x", size)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		of := ""
		if i == n/2 {
			of = changed
		}
		fmt.Fprintf(&b, "\n    {\n      \"module\": \"module.m[%d]\",\n      \"mode\": \"managed\",\n      \"type\": \"aws_x\",\n      \"name\": \"n%07d\",\n      \"provider\": \"provider[\\\"registry.terraform.io/hashicorp/aws\\\"]\",\n      \"instances\": [\n        {\n          \"schema_version\": 0,\n          \"attributes\": {\n            \"id\": \"i-%d%s\",\n            \"number\": 1.50,\n            \"text\": \"%s\"\n          },\n          \"sensitive_attributes\": [],\n          \"dependencies\": [\n            \"module.m.aws_x.other\"\n          ]\n        }\n      ]\n    }", 1, i, i, of, text)
	}
	if n > 0 {
		b.WriteString("\n  ")
	}
	b.WriteString("],\n  \"check_results\": null\n}\n")
	return b.Bytes()
}

// query runs SQL statements on the server on a port, and returns the text of the first column of the first row of the
// last statement, or "" if that statement returns no row.
func query(t *testing.T, port, sql string) string {
	t.Helper()
	c, err := pgconn.Connect(ctx, "postgres://postgres@127.0.0.1:"+port+"/postgres?sslmode=disable")
	check(t, err)
	defer c.Close(ctx)
	all, err := c.Exec(ctx, sql).ReadAll()
	check(t, err)
	if last := all[len(all)-1]; len(last.Rows) > 0 {
		return string(last.Rows[0][0])
	}
	return ""
}

// TestRows tests the layout "rows" alone.
func TestRows(t *testing.T) {
	t.Parallel()
	port := startPostgres(t)
	t.Run("changes", func(t *testing.T) { testRowChanges(t, port) })
	t.Run("workspaces do not meet", func(t *testing.T) { testRowWorkspaces(t, port) })
	t.Run("documents", func(t *testing.T) { testRowDocuments(t, port) })
	t.Run("parts", func(t *testing.T) { testRowParts(t, port) })
	t.Run("damage in a part", func(t *testing.T) { testRowDamage(t, port) })
	t.Run("the first format", func(t *testing.T) { testFirstFormat(t, port) })
	t.Run("other shapes", func(t *testing.T) { testRowShapes(t, port) })
}

// testRowChanges checks that a change of one object takes a constant number of requests and rows.
func testRowChanges(t *testing.T, port string) {
	requests := map[int]int64{}
	for _, n := range []int{10, 2000} {
		p := newProxy(t, "127.0.0.1:"+port)
		st := opener(t, p.port(), fmt.Sprintf("changes %d", n), "rows")()
		v, err := st.Put(ctx, "w", document(1, n, 100, ""), "")
		check(t, err)
		rows := query(t, port, fmt.Sprintf(`SELECT count(*) || ' ' || min(attributes->>'number') || ' ' || min(address) FROM "changes %d".states_objects`, n))
		if want := fmt.Sprintf("%d 1.50 module.m[1].aws_x.n0000000", n); rows != want {
			t.Errorf("there are %s, want %s", rows, want)
		}
		const stats = `SELECT pg_stat_force_next_flush(); SELECT sum(n_tup_ins + n_tup_upd + n_tup_del) FROM pg_stat_user_tables WHERE schemaname = 'changes %d'`
		p.Interrupt(1<<30, false)
		before := query(t, port, fmt.Sprintf(stats, n))
		v, err = st.Put(ctx, "w", document(2, n, 100, "!"), v)
		check(t, err)
		requests[n] = p.count.Load()
		time.Sleep(1200 * time.Millisecond) // PostgreSQL delays the counts of other connections by a second
		_, _, err = st.Get(ctx, "w")
		check(t, err)
		t.Logf("%d objects: %d requests; rows %s, then %s", n, requests[n], before, query(t, port, fmt.Sprintf(stats, n)))
		got, seen, err := st.Get(ctx, "w")
		check(t, err)
		if !bytes.Equal(got, document(2, n, 100, "!")) || seen != v {
			t.Error("another document comes back")
		}
		if rows := query(t, port, fmt.Sprintf(`SELECT count(*) FROM "changes %d".states_objects WHERE until = 2 OR since = 2`, n)); rows != "2" {
			t.Errorf("%s rows of objects were written", rows)
		}
	}
	if requests[10] != requests[2000] || requests[10] > 4 {
		t.Errorf("requests: %v", requests)
	}
}

// testRowDocuments checks that a document that was written is read unchanged, and equals the document of the other
// layout. The documents are the states of scripts, a state with text that databases refuse, and a large state.
func testRowDocuments(t *testing.T, port string) {
	var raw [][]byte
	scripts, err := filepath.Glob("../../internal/cli/testdata/script/*/*.txtar")
	check(t, err)
	for _, name := range scripts {
		text, err := os.ReadFile(name)
		check(t, err)
		for _, f := range txtar.Parse(text).Files {
			if strings.Contains(f.Name, "tfstate") || bytes.Contains(f.Data, []byte(`"lineage"`)) {
				raw = append(raw, f.Data)
			}
		}
	}
	t.Logf("%d states of scripts", len(raw))
	files, err := filepath.Glob("../../internal/state/testdata/*.tfstate")
	check(t, err)
	for _, name := range files {
		text, err := os.ReadFile(name)
		check(t, err)
		raw = append(raw, text)
	}
	const strange = `{"version":4,"terraform_version":"1.12.0","serial":18446744073709551615,"lineage":"l\u0000","newer":[1.50],"outputs":{"a\tb":{"value":1e400,"type":"number"},"s":{"value":"\u0000","type":"string","sensitive":true}},"resources":[{"mode":"managed","type":"t","name":"n","provider":"provider[\"registry.terraform.io/hashicorp/t\"]","newer":{"a":1.0},"instances":[{"index_key":%q,"schema_version":4611686018427387904,"attributes":{"n":1.000000000000000000000000001,"s":"\ud800 \u0000 <>&","deep":%s},"sensitive_attributes":[],"private":"AAAA","newer":"x"}]}],"check_results":null}`
	raw = append(raw, fmt.Appendf(nil, strange, "k'\"\\", "1"), fmt.Appendf(nil, strange, strings.Repeat("k", 5000), strings.Repeat("[", 5000)+strings.Repeat("]", 5000)), document(1, 60_000, 500, ""))
	rows, documents := opener(t, port, "documents", "rows")(), opener(t, port, "documents too", "document")()
	inRows := 0
	for i, text := range raw {
		all := [][]byte{text}
		if s, ok := state.Read(bytes.Clone(text), &diag.Bag{}); ok {
			written, err := s.Bytes()
			check(t, err)
			all = append(all, written)
		}
		for n, text := range all {
			if len(bytes.TrimSpace(text)) == 0 {
				continue
			}
			name := fmt.Sprintf("w%d-%d", i, n)
			for _, st := range []store.Store{rows, documents} {
				v, err := st.Put(ctx, name, text, "")
				if err != nil {
					t.Fatalf("%v: %.1000s", err, text)
				}
				got, seen, err := st.Get(ctx, name)
				check(t, err)
				if !bytes.Equal(got, text) || seen != v {
					t.Errorf("%.2000s\nbecame\n%.2000s", text, got)
				}
			}
			if n == 1 && query(t, port, `SELECT count(*) FROM documents.states_versions v JOIN documents.states s ON s.id = v.state WHERE v.document IS NULL AND s.name = '`+name+`'`) == "1" {
				inRows++
			}
		}
	}
	if t.Logf("%d documents, %d of them as programs write them", len(raw), inRows); inRows < len(raw)/2 {
		t.Error("those are too few")
	}
}

// testRowWorkspaces checks that concurrent writes of different states all succeed.
func testRowWorkspaces(t *testing.T, port string) {
	open := opener(t, port, "crowded", "rows")
	var wg sync.WaitGroup
	var writes atomic.Int64
	for i := range 8 {
		wg.Go(func() {
			st, v := open(), store.Version("")
			for n := range 20 {
				var err error
				if v, err = st.Put(ctx, fmt.Sprintf("w%d", i), document(n, 20, 10, fmt.Sprint(n)), v); err != nil {
					t.Error(err)
					return
				}
				writes.Add(1)
			}
		})
	}
	wg.Wait()
	t.Logf("%d writings", writes.Load())
}

// testRowDamage checks that damaged or removed rows are noticed by reads and writes of their part. Parts without these
// rows continue to work.
func testRowDamage(t *testing.T, port string) {
	const resource, other = "module.m.aws_x.n0000001", "module.m.aws_x.n0000002"
	for what, sql := range map[string]string{
		"a row is gone":          `DELETE FROM %s.states_objects WHERE resource = '` + resource + `'`,
		"a value":                `UPDATE %s.states_objects SET attributes = '{"id":"i-77"}' WHERE resource = '` + resource + `'`,
		"a status":               `UPDATE %s.states_objects SET status = 'tainted' WHERE resource = '` + resource + `'`,
		"a row ended":            `UPDATE %s.states_objects SET until = 1 WHERE resource = '` + resource + `'`,
		"a row is of another":    `UPDATE %s.states_objects SET resource = '` + other + `x' WHERE resource = '` + resource + `'`,
		"the resource is hidden": `DELETE FROM %s.states_resources WHERE resource = '` + resource + `'`,
	} {
		schema := "damage_" + strings.ReplaceAll(what, " ", "_")
		st := opener(t, port, schema, "rows")()
		parted := st.Capabilities().Parts
		v, err := st.Put(ctx, "w", document(1, 5, 100, ""), "")
		check(t, err)
		whole, _, err := parted.GetPart(ctx, "w", []string{resource})
		check(t, err)
		query(t, port, fmt.Sprintf(sql, schema))
		var damaged *store.DamagedError
		if _, _, err := parted.GetPart(ctx, "w", []string{other, resource}); !errors.As(err, &damaged) {
			t.Errorf("%s: read: %v", what, err)
		}
		if _, _, err := parted.GetPart(ctx, "w", []string{other}); err != nil {
			t.Errorf("%s: a part without it: %v", what, err)
		}
		next := bytes.Replace(whole, []byte(`"serial": 1`), []byte(`"serial": 2`), 1)
		if v, err := parted.PutPart(ctx, "w", store.Part{Resources: []string{resource}, Data: next}, v); !errors.As(err, &damaged) && what != "a value" && what != "a status" {
			t.Errorf("%s: written: %v %v", what, v, err)
		}
	}
}

// testRowParts checks that a part is read as a separate state, and written without reads or writes of other parts.
func testRowParts(t *testing.T, port string) {
	st := opener(t, port, "parted", "rows")()
	parted := st.Capabilities().Parts
	const n = 40
	resource := func(i int) string { return fmt.Sprintf("module.m.aws_x.n%07d", i) }
	if _, err := parted.Review(ctx, "w", nil); !errors.Is(err, store.ErrNotPartial) {
		t.Errorf("of no state: %v", err)
	}
	v, err := st.Put(ctx, "w", document(1, n, 100, ""), "")
	check(t, err)
	stamps := map[string]store.Stamp{}
	for i := range n {
		stamps[resource(i)] = store.Stamp{Config: "c", Of: []string{resource((i + 1) % n)}}
	}
	stamps["aws_x.none"] = store.Stamp{Config: "none"}
	review := func(want int) *store.Review {
		t.Helper()
		r, err := parted.Review(ctx, "w", stamps)
		check(t, err)
		if len(r.Resources) != n || r.Version != v || len(r.Same) != want {
			t.Errorf("%d resources, %d the same, want %d", len(r.Resources), len(r.Same), want)
		}
		return r
	}
	review(0)
	v, err = parted.PutPart(ctx, "w", store.Part{Stamps: stamps}, v)
	check(t, err)
	review(n + 1)
	data, got, err := parted.GetPart(ctx, "w", []string{resource(n / 2), "aws_x.other"})
	check(t, err)
	if got != v || bytes.Count(data, []byte(`"schema_version"`)) != 1 || !bytes.Contains(data, []byte(resource(n / 2)[len("module.m.aws_x."):])) {
		t.Errorf("the part is %s", data)
	}
	// A run changes two stamps: the stamp of its object, and the stamp of the resource that depends on the object.
	whole := document(2, n, 100, "!")
	changed := bytes.Replace(bytes.Replace(data, []byte(`"serial": 1`), []byte(`"serial": 2`), 1), fmt.Appendf(nil, `i-%d`, n/2), fmt.Appendf(nil, `i-%d!`, n/2), 1)
	next, err := parted.PutPart(ctx, "w", store.Part{Resources: []string{resource(n / 2)}, Data: changed}, v)
	check(t, err)
	var stale *store.StaleError
	if _, err = parted.PutPart(ctx, "w", store.Part{Resources: []string{resource(1)}, Data: changed}, v); !errors.As(err, &stale) {
		t.Errorf("a stale part: %v", err)
	}
	v = next
	if r := review(n - 1); r.Same[resource(n/2)] || r.Same[resource(n/2-1)] {
		t.Error("the stamps of what was changed are the same")
	}
	all, got, err := st.Get(ctx, "w")
	check(t, err)
	if !bytes.Equal(all, whole) || got != v {
		t.Errorf("%s became %s", whole, all)
	}
	if rows := query(t, port, `SELECT (SELECT count(*) FROM parted.states_objects WHERE since = 2 OR until = 2) || ' ' || (SELECT sum FROM parted.states_versions WHERE number = 2)`); !strings.HasPrefix(rows, "2 ") {
		t.Errorf("rows of objects and sum: %s", rows)
	}
	// The stored sum is the same as the computed sum: writing the same document changes no row.
	v, err = st.Put(ctx, "w", document(3, n, 100, "!"), v)
	check(t, err)
	if same := query(t, port, `SELECT count(DISTINCT sum) FROM parted.states_versions WHERE number > 1`); same != "1" {
		t.Errorf("there are %s sums", same)
	}
	// A resource whose objects were removed is no longer in the list of resources.
	gone := document(4, 0, 0, "")
	if v, err = parted.PutPart(ctx, "w", store.Part{Resources: []string{resource(n / 2)}, Data: gone}, v); err != nil {
		t.Fatal(err)
	}
	r, err := parted.Review(ctx, "w", nil)
	check(t, err)
	if all, _, err = st.Get(ctx, "w"); err != nil || len(r.Resources) != n-1 || bytes.Count(all, []byte(`"schema_version"`)) != n-1 {
		t.Errorf("%d resources: %v", len(r.Resources), err)
	}
	// A connection that breaks during or at the end of the write changes nothing.
	for at := range 4 {
		p := newProxy(t, "127.0.0.1:"+port)
		through := opener(t, p.port(), "parted", "rows")().Capabilities().Parts
		p.Interrupt(at, at%2 == 0)
		serial := 5 + at
		v, err = through.PutPart(ctx, "w", store.Part{Resources: []string{resource(n / 2)}, Data: document(serial, 0, 0, "")}, v)
		check(t, err)
	}
	if all, got, err = st.Get(ctx, "w"); err != nil || got != v || !bytes.Contains(all, []byte(`"serial": 8`)) {
		t.Errorf("%v %s", err, got)
	}
}

// testFirstFormat checks that the format of an older version is read, and that a write converts it to the current
// format.
func testFirstFormat(t *testing.T, port string) {
	st := opener(t, port, "older", "rows")()
	doc := document(1, 20, 50, "")
	_, err := st.Put(ctx, "w", doc, "")
	check(t, err)
	query(t, port, `UPDATE older.states SET data = '{"version":5,"layout":"rows","format":1}'; UPDATE older.states_versions SET digest = '`+string(store.Digest(doc))+`'; ALTER TABLE older.states_versions DROP COLUMN sum;
UPDATE older.states_objects SET digest = substr(sha256(digest), 1, 16); ALTER TABLE older.states_objects DROP COLUMN resource; DROP TABLE older.states_resources`)
	st = opener(t, port, "older", "rows")()
	got, v, err := st.Get(ctx, "w")
	check(t, err)
	if !bytes.Equal(got, doc) {
		t.Errorf("%s", got)
	}
	parted := st.Capabilities().Parts
	if _, err := parted.Review(ctx, "w", nil); !errors.Is(err, store.ErrNotPartial) {
		t.Errorf("parts: %v", err)
	}
	v, err = st.Put(ctx, "w", document(2, 20, 50, "!"), v)
	check(t, err)
	if r, err := parted.Review(ctx, "w", nil); err != nil || len(r.Resources) != 20 || r.Version != v {
		t.Errorf("%v %v", r, err)
	}
	if got, _, err = st.Get(ctx, "w"); err != nil || !bytes.Equal(got, document(2, 20, 50, "!")) {
		t.Errorf("%v %s", err, got)
	}
	h := st.Capabilities().History
	if former, err := h.Former(ctx, "w", store.Past{Serial: 1}); err != nil || !bytes.Equal(former, doc) {
		t.Errorf("the former state: %v %s", err, former)
	}
}

// testRowShapes checks that data in other layouts is refused.
func testRowShapes(t *testing.T, port string) {
	rows, documents := opener(t, port, "shapes", "rows"), opener(t, port, "shapes", "document")
	v, err := rows().Put(ctx, "rows", document(1, 1, 1, ""), "")
	check(t, err)
	d, err := documents().Put(ctx, "document", document(1, 1, 1, ""), "")
	check(t, err)
	refused := func(what string, err error, words string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, w := range []struct {
		st        store.Store
		workspace string
		words     string
		v         store.Version
	}{{rows(), "document", `Set layout = "document"`, d}, {documents(), "rows", `Set layout = "rows"`, v}} {
		_, _, err := w.st.Get(ctx, w.workspace)
		refused("Get", err, w.words)
		for _, v := range []store.Version{"", w.v} {
			_, err = w.st.Put(ctx, w.workspace, document(2, 1, 1, ""), v)
			refused("Put", err, w.words)
		}
		refused("Delete", w.st.Delete(ctx, w.workspace), w.words)
	}
	query(t, port, `UPDATE shapes.states SET data = '{"version":5,"layout":"rows","format":3}' WHERE name = 'rows'`)
	_, _, err = rows().Get(ctx, "rows")
	refused("a newer format", err, "newer version")
	query(t, port, `UPDATE shapes.states SET data = '{"version":5,"layout":"rows","format":2}' WHERE name = 'rows'; UPDATE shapes.states_objects SET schema_version = 7`)
	_, _, err = rows().Get(ctx, "rows")
	refused("rows that another changed", err, "another program changed")
	query(t, port, `CREATE SCHEMA strange; CREATE TABLE strange.states_objects (a int)`)
	_, _, err = opener(t, port, "strange", "rows")().Get(ctx, "rows")
	refused("a table of others", err, "belong to another program")
	if err != nil && strings.Contains(err.Error(), "canary") {
		t.Error(err)
	}
	var stale *store.StaleError
	if _, err = rows().Put(ctx, "rows", document(9, 1, 1, ""), "1-x"); !errors.As(err, &stale) {
		t.Error(err)
	}
}

// TestRowsRepaired checks that a state whose rows were changed by another program is restored.
func TestRowsRepaired(t *testing.T) {
	port := startPostgres(t)
	ours, err := lethe()
	check(t, err)
	u := newDirectory(t, ours, rowsPlace(port, "repaired"))
	u.run(0, "apply", "-auto-approve", "-var", "v=1")
	if out := u.run(0, "state", "check"); strings.Contains(out, "Backup") {
		t.Errorf("the state is a backup of itself:\n%s", out)
	}
	for _, harm := range []string{
		`DELETE FROM repaired.states_objects WHERE until IS NULL`,
		`UPDATE repaired.states_objects SET attributes = '{"id":"another"}' WHERE until IS NULL`,
	} {
		u.run(0, "apply", "-auto-approve", "-var", "v=2")
		query(t, port, harm)
		wants(t, u.run(1, "plan", "-var", "v=2"), "another program changed", "lethe state check")
		wants(t, u.run(1, "state", "check"), "it cannot be read. The rows of workspace \"default\" with the serial 2", "serial 1, written", "the newest usable backup")
		wants(t, u.run(0, "state", "repair", "-auto-approve"), "put back the former state with the serial 1")
		u.run(0, "state", "check")
		u.run(0, "plan", "-detailed-exitcode", "-var", "v=1")
	}
}

// TestDamagedRowsReplaced checks that a user's copy of a state replaces damaged rows if no whole version is kept. The
// damaged data is kept in a file.
func TestDamagedRowsReplaced(t *testing.T) {
	port := startPostgres(t)
	ours, err := lethe()
	check(t, err)
	for name, days := range map[string]string{"nothing_kept": "0", "kept": "30"} {
		p := rowsPlace(port, name)
		p.backend = strings.Replace(p.backend, "layout = \"rows\"", "layout = \"rows\"\n    history_days = "+days, 1)
		u := newDirectory(t, ours, p)
		u.run(0, "apply", "-auto-approve", "-var", "v=canary-4712")
		saved := filepath.Join(u.dir, "saved")
		check(t, os.WriteFile(saved, []byte(u.run(0, "state", "pull")), 0o600))
		for n, harm := range []string{
			`UPDATE %s.states_objects SET type = 'another'`,
			`DELETE FROM %s.states_objects`,
			`DELETE FROM %s.states_versions`,
		} {
			query(t, port, fmt.Sprintf(harm, name))
			for _, c := range [][]string{{"plan"}, {"plan", "-refresh=false"}, {"apply", "-auto-approve"}, {"state", "list"}, {"state", "push", saved}} {
				wants(t, u.run(1, c...), "another program", "lethe state check")
			}
			wants(t, u.run(1, "state", "repair", "-auto-approve"), "state push -force FILE")
			file := "default.unreadable"
			if n > 0 {
				file += fmt.Sprintf("-%d", n)
			}
			wants(t, u.run(0, "state", "push", "-force", saved), "Unreadable state replaced", ".terraform/"+file)
			text, err := os.ReadFile(filepath.Join(u.dir, ".terraform", file))
			check(t, err)
			wants(t, string(text), "canary-4712")
			u.run(0, "state", "check")
			u.run(0, "plan", "-detailed-exitcode", "-var", "v=canary-4712")
		}
	}
}

// TestRowSpeed measures a state of 10,000 objects in both layouts, and with LETHE_LONG=1 also a state of 100,000
// objects. LETHE_ROWS sets another number of objects. It measures more than 100,000 objects only in the layout rows.
func TestRowSpeed(t *testing.T) {
	port := startPostgres(t)
	sizes := []int{10_000}
	if os.Getenv("LETHE_LONG") != "" {
		sizes = append(sizes, 100_000)
	}
	if n, err := strconv.Atoi(os.Getenv("LETHE_ROWS")); err == nil {
		sizes = []int{n}
	}
	for _, n := range sizes {
		for _, layout := range []string{"document", "rows"} {
			if layout == "document" && n > 100_000 {
				continue
			}
			st := opener(t, port, fmt.Sprintf("speed %s %d", layout, n), layout)()
			measure := func(what string, do func()) {
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				start := time.Now()
				do()
				took := time.Since(start)
				runtime.ReadMemStats(&after)
				t.Logf("%7d objects, %-8s %-22s %8v, %4d MB allocated", n, layout, what, took.Round(time.Millisecond), (after.TotalAlloc-before.TotalAlloc)>>20)
			}
			var v store.Version
			first, second := document(1, n, 300, ""), document(2, n, 300, "!")
			t.Logf("%d MB", len(first)>>20)
			var err error
			measure("Put of all", func() { v, err = st.Put(ctx, "w", first, "") })
			check(t, err)
			measure("Put with one change", func() { v, err = st.Put(ctx, "w", second, v) })
			check(t, err)
			var got []byte
			measure("Get", func() { got, _, err = st.Get(ctx, "w") })
			check(t, err)
			if !bytes.Equal(got, second) {
				t.Error("another document comes back")
			}
		}
	}
}
