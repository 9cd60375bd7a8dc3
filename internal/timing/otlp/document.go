package otlp

import (
	"slices"
	"strconv"
	"time"

	"github.com/lethe-iac/lethe/internal/timing"
)

// About describes the command whose times are sent.
type About struct {
	Product string
	Version string
	Failed  bool
	Scrub   func(string) string // masks secrets in attributes and names of spans; nil: no masking
}

// batch is the number of spans in one request.
const batch = 2000

// These types are the parts of OTLP's JSON form that Send uses.
type (
	document struct {
		Resources []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource resource     `json:"resource"`
		Scopes   []scopeSpans `json:"scopeSpans"`
	}
	resource struct {
		Attributes []attribute `json:"attributes"`
	}
	scopeSpans struct {
		Scope scope  `json:"scope"`
		Spans []span `json:"spans"`
	}
	scope struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	span struct {
		Trace      string      `json:"traceId"`
		ID         string      `json:"spanId"`
		Parent     string      `json:"parentSpanId,omitempty"`
		Name       string      `json:"name"`
		Kind       int         `json:"kind"`
		Began      string      `json:"startTimeUnixNano"`
		Ended      string      `json:"endTimeUnixNano"`
		Attributes []attribute `json:"attributes,omitempty"`
		Events     []happened  `json:"events,omitempty"`
		Status     status      `json:"status"`
	}
	happened struct {
		At   string `json:"timeUnixNano"`
		Name string `json:"name"`
	}
	status struct {
		Code int `json:"code,omitempty"`
	}
	attribute struct {
		Key   string `json:"key"`
		Value value  `json:"value"`
	}
	value struct {
		Text string `json:"stringValue"`
	}
)

const (
	internal = 1 // the kind of a span inside the program
	client   = 3 // the kind of a span of a call to a provider
	failed   = 2 // the status code of a failed span
)

type builder struct {
	trace Trace
	run   *timing.Run
	about About
	spans []span
}

// documents returns the requests for the spans of a run, each with at most batch spans.
func documents(s *Settings, t Trace, r *timing.Run, about About) []document {
	b := &builder{trace: t, run: r, about: about}
	b.all()
	attributes := []attribute{b.attribute("telemetry.sdk.language", "go"), b.attribute("service.version", about.Version)}
	if !slices.ContainsFunc(s.Attributes, func(p [2]string) bool { return p[0] == "service.name" }) {
		attributes = append(attributes, b.attribute("service.name", "lethe"))
	}
	for _, p := range s.Attributes {
		attributes = append(attributes, b.attribute(p[0], p[1]))
	}
	var out []document
	for part := range slices.Chunk(b.spans, batch) {
		out = append(out, document{[]resourceSpans{{resource{attributes}, []scopeSpans{{scope{about.Product, about.Version}, part}}}}})
	}
	return out
}

func (b *builder) all() {
	r := b.run
	command := b.span(b.trace.Parent, r.Command, internal, 0, r.Took, b.attribute("lethe.interrupted", strconv.FormatBool(r.Interrupted)))
	command.ID = b.trace.Span
	if b.about.Failed {
		command.Status.Code = failed
	}
	b.spans = append(b.spans, command)
	phases := make([]string, len(r.Phases))
	for i, p := range r.Phases {
		phases[i] = b.add(b.span(b.trace.Span, p.Name, internal, p.Began, p.Ended))
	}
	for _, row := range r.Rows {
		parent := b.trace.Span
		for i, p := range r.Phases {
			if p.Name == row.Walk && p.Began <= row.Began && row.Began <= p.Ended {
				parent = phases[i]
			}
		}
		s := b.span(parent, row.Name, internal, row.Began, row.Ended, b.attribute("lethe.address", row.Name))
		if row.Failed {
			s.Status.Code = failed
		}
		id := b.add(s)
		for _, c := range row.Spans {
			b.call(id, c)
		}
	}
	for _, p := range r.Starts {
		b.add(b.span(b.trace.Span, "start provider", internal, p.Began, p.Ended, b.attribute("lethe.provider", p.Name)))
	}
	for _, l := range r.Leases {
		s := b.span(b.trace.Span, "lease "+l.Name, internal, l.Began, l.Ended, b.attribute("lethe.address", l.Name), b.attribute("lethe.closed", strconv.FormatBool(!l.Open)))
		for _, at := range l.Renewed {
			s.Events = append(s.Events, happened{b.at(at), "renewed"})
		}
		b.add(s)
	}
}

// call adds the span c of a row: a call, the start of a provider, or a wait. row is the ID of the row's span.
func (b *builder) call(row string, c timing.Span) {
	switch c.Kind {
	case timing.Call:
		b.add(b.span(row, c.Name, client, c.Began, c.Ended))
	case timing.Configure:
		b.add(b.span(row, "configure provider", client, c.Began, c.Ended, b.attribute("lethe.provider", c.Name)))
	default:
		b.add(b.span(row, "wait", internal, c.Began, c.Ended, b.attribute("lethe.waits_for", c.Name)))
	}
}

func (b *builder) span(parent, name string, kind int, began, ended time.Duration, attributes ...attribute) span {
	return span{Trace: b.trace.ID, ID: random(8), Parent: parent, Name: b.text(name), Kind: kind, Began: b.at(began), Ended: b.at(ended), Attributes: attributes}
}

func (b *builder) add(s span) (id string) {
	b.spans = append(b.spans, s)
	return s.ID
}

func (b *builder) at(d time.Duration) string {
	return strconv.FormatInt(b.run.Began.Add(d).UnixNano(), 10)
}

func (b *builder) attribute(name, text string) attribute {
	return attribute{name, value{b.text(text)}}
}

func (b *builder) text(s string) string {
	if b.about.Scrub == nil {
		return s
	}
	return b.about.Scrub(s)
}
