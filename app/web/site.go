package web

import (
	"context"
	"crypto/rand"
	"embed"
	"log/slog"
	"net/http"
	"time"

	"github.com/klauspost/compress/gzhttp"
	"google.golang.org/grpc"

	"misstep/app/local"
	"misstep/corpus"
	"misstep/internal/buckets"
	misstepv1 "misstep/proto/misstep/v1"
)

// Options of a site.
type Options struct {
	// Conn is the connection to the coordinator; pages add the credential and the project of each call.
	Conn grpc.ClientConnInterface
	// Blobs has the evidence of findings.
	Blobs corpus.Source
	// Asks means that the coordinator asks who calls, so that people log in; without, everybody who reaches the site sees all.
	Asks bool
	// Writable allows changes where the coordinator does not ask who calls.
	Writable bool
	// TLS means that the site is served by HTTPS only.
	TLS bool
	// Bundle writes the bundle of a finding to a file; nil offers no bundles.
	Bundle func(ctx context.Context, finding, path string) error
	// Own has the names for new campaigns besides those of the shared catalogue: the catalogue of this machine, where its runners
	// are; nil is none.
	Own *local.Installation
	// Place is how a command reaches the same coordinator, as "--dir hunt-x", for the commands that pages show.
	Place string
	// Patience is how long a visitor may take to send a form, or to receive 64 KiB of an answer; 0 is half a minute.
	Patience time.Duration
	// Clock is time.Now where it is nil.
	Clock func() time.Time
	// Logger takes what went wrong here; nil is none.
	Logger *slog.Logger
}

// Site answers requests for pages. It is safe for concurrent use.
type Site struct {
	Options
	admin     misstepv1.AdminServiceClient
	access    misstepv1.AccessServiceClient
	schedules misstepv1.ScheduleServiceClient
	shared    misstepv1.CatalogueServiceClient
	handler   http.Handler
	changes   changes
	// texts of shared pages, with blanks.
	texts     *answers[[]byte]
	blanks    blanks
	streams   slots
	downloads slots
	// writing has a place for each bundle that is written at the same time.
	writing  chan struct{}
	sessions sessions
	logins   logins
	// attempts counts logins by address, see attempt.
	attempts buckets.Buckets[string]
	// csrf is in the forms of a site that asks nobody who they are.
	csrf string
}

//go:embed static
var static embed.FS

// New returns a site.
func New(o Options) *Site {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Patience == 0 {
		o.Patience = defaultPatience
	}
	conn := newCache(o.Conn, o.Clock)
	s := &Site{
		Options: o, admin: misstepv1.NewAdminServiceClient(conn), access: misstepv1.NewAccessServiceClient(conn),
		schedules: misstepv1.NewScheduleServiceClient(conn), shared: misstepv1.NewCatalogueServiceClient(conn),
		streams:   slots{what: "pages that follow what happens", most: 1000, each: 100, comeBack: aliveEvery},
		downloads: slots{what: "downloads", most: 16, each: 4, comeBack: defaultPatience},
		writing:   make(chan struct{}, maxBundles), csrf: rand.Text(), blanks: newBlanks(),
		texts: newAnswers(minShared, func(text []byte) int { return len(text) }, o.Clock),
	}
	s.handler = s.routes()
	return s
}

// ServeHTTP implements http.Handler.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

func (s *Site) routes() http.Handler {
	pages := http.NewServeMux()
	for pattern, make := range map[string]maker{
		"GET /{$}":                   s.overview,
		"GET /findings":              s.findings,
		"GET /matrix":                s.matrix,
		"GET /findings/{id}":         s.finding,
		"GET /findings/{id}/history": s.history,
		"GET /samplers":              s.samplers,
		"GET /fleet":                 s.fleet,
		"GET /known":                 s.known,
		"GET /campaigns":             s.campaigns,
		"GET /campaigns/{id}":        s.campaign,
	} {
		pages.Handle(pattern, s.common(make))
	}
	for pattern, make := range map[string]maker{
		"GET /findings/{id}/report":          s.report,
		"GET /findings/{id}/compare/{other}": s.compare,
		"GET /people":                        s.people,
		"GET /campaigns/new":                 s.draft,
	} {
		pages.Handle(pattern, s.page(make))
	}
	pages.HandleFunc("GET /findings/{id}/evidence/{name}", s.evidence)
	pages.HandleFunc("GET /findings/{id}/bundle", s.bundle)
	for pattern, do := range map[string]action{
		"POST /findings/{id}/merge":       s.merge,
		"POST /findings/{id}/split":       s.split,
		"POST /findings/{id}/note":        s.note,
		"POST /findings/{id}/label":       s.label,
		"POST /findings/{id}/unlabel":     s.unlabel,
		"POST /decisions/{decision}/undo": s.undo,
		"POST /campaigns":                 s.submit,
		"POST /campaigns/{id}/stop":       s.stop,
		"POST /owners/trust":              s.trust,
		"POST /runners/drain":             s.drain,
	} {
		pages.Handle(pattern, s.act(do))
	}
	pages.HandleFunc("GET /events", s.events)
	pages.HandleFunc("POST /logout", s.logOut)
	pages.Handle("/", s.page(nowhere))

	all := http.NewServeMux()
	all.Handle("GET /static/", staticFiles())
	if s.Asks {
		all.HandleFunc("POST /login", s.logIn)
		all.HandleFunc("GET /login/provider", s.goToProvider)
		all.HandleFunc("GET /login/back", s.comeBack)
	}
	all.Handle("/", s.enter(pages))
	return s.guard(s.deadlines(compressed(all)))
}

// jitter is the most random bytes that are added to a compressed page: its length must not tell what secret it has in it beside
// what an address put there (BREACH).
const jitter = 64

// compressed compresses pages, styles and data, but neither streams of events nor what is kept as a file.
func compressed(next http.Handler) http.Handler {
	wrap, err := gzhttp.NewWrapper(gzhttp.RandomJitter(jitter, 0, false),
		gzhttp.ContentTypes([]string{"text/html", "text/css", "text/csv", "text/javascript", "application/json", "image/svg+xml"}))
	if err != nil {
		panic(err) // of options that are no options
	}
	return wrap(next)
}

// staticFiles serves the style, the script and the icon, which change with the binary only.
func staticFiles() http.Handler {
	files := http.FileServerFS(static)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=3600")
		files.ServeHTTP(w, r)
	})
}
