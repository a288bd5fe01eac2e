package web

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	misstepv1 "misstep/proto/misstep/v1"
)

// maker makes a page for a request.
type maker func(*http.Request) (*page, error)

// page is what is shown under one address, in each of its formats.
type page struct {
	// template that shows it, and what it shows.
	template, title string
	data            any
	// json is a proto message, a list of them, or any value; csv has the header first.
	json any
	csv  [][]string
	// live pages follow what happens.
	live bool
}

// shell is what the templates see.
type shell struct {
	Title string
	Data  any
	// Path is the page's own address without project and format, Query what was asked for.
	Path, Query string
	// Project and Prefix of the addresses in it.
	Project, Prefix string
	// Caller's name; empty where nobody is asked.
	Caller string
	// CSRF is what forms that change something have in them.
	CSRF string
	Live bool
	// Formats reports that the page's address has other formats.
	Formats bool
	Nav     []link
}

// link of the navigation.
type link struct {
	Name, Path string
	Current    bool
	// admin pages are shown to admins of a coordinator that asks who calls.
	admin bool
}

// Link returns the address of a page in the project.
func (s shell) Link(path string) string { return s.Prefix + path }

// As returns the page's own address in another format.
func (s shell) As(format string) string {
	path := s.Path
	if path == "/" {
		path = "/overview"
	}
	return s.Prefix + path + "." + format + s.Query
}

// sections of the site, in the order of the navigation.
var sections = []link{
	{Name: "Overview", Path: "/"},
	{Name: "Findings", Path: "/findings"},
	{Name: "Bug × JDK", Path: "/matrix"},
	{Name: "Campaigns", Path: "/campaigns"},
	{Name: "Samplers", Path: "/samplers"},
	{Name: "Fleet", Path: "/fleet"},
	{Name: "Known bugs", Path: "/known"},
	{Name: "People", Path: "/people", admin: true},
}

// page answers with what a maker makes, in the format that was asked for.
func (s *Site) page(make maker) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, err := make(r)
		if err == nil {
			err = s.write(w, r, http.StatusOK, p)
		}
		if err != nil {
			s.fail(w, r, err)
		}
	})
}

func (s *Site) write(w http.ResponseWriter, r *http.Request, code int, p *page) error {
	v := visitOf(r.Context())
	switch v.format {
	case "json":
		text, err := jsonOf(p.json)
		if err != nil {
			return err
		}
		send(w, code, "application/json", text)
	case "csv":
		text, err := csvOf(p.csv)
		if err != nil {
			return err
		}
		w.Header().Set("Content-Disposition", `attachment; filename="`+p.template+`.csv"`)
		send(w, code, "text/csv; charset=utf-8", text)
	default:
		text, err := s.html(v, r, p)
		if err != nil {
			return err
		}
		send(w, code, "text/html; charset=utf-8", text)
	}
	return nil
}

func (s *Site) html(v *visit, r *http.Request, p *page) ([]byte, error) {
	view := shell{
		Title: p.title, Data: p.data, Path: r.URL.Path, Project: v.project, Prefix: v.prefix, Live: p.live, CSRF: v.csrf,
		Formats: r.Method == http.MethodGet,
	}
	if s.Asks {
		view.Caller = v.caller.Name
	}
	if r.URL.RawQuery != "" {
		view.Query = "?" + r.URL.Query().Encode()
	}
	for _, l := range sections {
		if l.admin && (!s.Asks || !v.caller.May(misstepv1.Role_ROLE_ADMIN, "")) {
			continue
		}
		l.Current = r.URL.Path == l.Path || l.Path != "/" && strings.HasPrefix(r.URL.Path, l.Path+"/")
		view.Nav = append(view.Nav, l)
	}
	return p.render("layout", view)
}

// render makes the page's HTML by a template that is around the page's own.
func (p *page) render(around string, view any) ([]byte, error) {
	var b bytes.Buffer
	err := templates[p.template].ExecuteTemplate(&b, around, view)
	return undirected(b.Bytes()), err
}

// undirected returns a page in which characters that change the direction of text (Unicode's Bidi_Control) are visible: names that
// others chose could show what follows them in another order.
func undirected(page []byte) []byte {
	control := func(r rune) bool { return unicode.Is(unicode.Bidi_Control, r) }
	if bytes.IndexFunc(page, control) < 0 {
		return page
	}
	var out []byte
	for _, r := range string(page) {
		if control(r) {
			out = fmt.Appendf(out, "\\u%04x", r)
		} else {
			out = utf8.AppendRune(out, r)
		}
	}
	return out
}

func send(w http.ResponseWriter, code int, kind string, text []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "private, no-cache")
	w.WriteHeader(code)
	_, _ = w.Write(text) // whoever asked may have gone
}

// jsonOf writes messages as the command line's --json does.
func jsonOf(v any) ([]byte, error) {
	if m, ok := v.(proto.Message); ok {
		return misstepv1.Canonical(m)
	}
	if v == nil {
		v = struct{}{}
	}
	text, err := json.MarshalIndent(v, "", "  ")
	return append(text, '\n'), err
}

// raw embeds a message in a JSON value, in its canonical form.
type raw struct{ proto.Message }

// MarshalJSON implements json.Marshaler.
func (r raw) MarshalJSON() ([]byte, error) {
	return protojson.MarshalOptions{UseProtoNames: true}.Marshal(r.Message)
}

func raws[M proto.Message](messages []M) []raw {
	list := make([]raw, 0, len(messages))
	for _, m := range messages {
		list = append(list, raw{m})
	}
	return list
}

// csvOf writes rows. A cell that a spreadsheet would take for a formula begins with an apostrophe: names come from JVMs.
func csvOf(rows [][]string) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	for _, row := range rows {
		safe := make([]string, len(row))
		for i, cell := range row {
			safe[i] = cell
			if _, err := strconv.ParseFloat(cell, 64); err != nil && strings.ContainsAny(cell[:min(1, len(cell))], "=+-@\t\r") {
				safe[i] = "'" + cell
			}
		}
		if err := w.Write(safe); err != nil {
			return nil, err
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

// templates by page, each with the layout and the parts that pages share.
var templates = parseTemplates()

func parseTemplates() map[string]*template.Template {
	shared := []string{"templates/layout.html", "templates/mail.html", "templates/parts.html"}
	base := template.Must(template.New("").Funcs(functions).ParseFS(sources, shared...))
	all := map[string]*template.Template{}
	files, err := sources.ReadDir("templates")
	if err != nil {
		panic(err) // they are embedded
	}
	for _, f := range files {
		path := "templates/" + f.Name()
		if !slices.Contains(shared, path) {
			all[strings.TrimSuffix(f.Name(), ".html")] = template.Must(template.Must(base.Clone()).ParseFS(sources, path))
		}
	}
	return all
}
