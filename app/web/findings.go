package web

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/signature"
)

// pageSize is the number of rows of a page.
const pageSize = 100

// filter is a field of the form above the findings; its name is that of the command line's flag.
type filter struct {
	Name, Label, Value string
	// Choices of a list, with the empty one first; none is a field to type in.
	Choices []choice
	Hint    string
}

// choice of a filter.
type choice struct {
	Value, Label string
	Chosen       bool
}

// findingsPage is what the page of findings shows.
type findingsPage struct {
	Now     time.Time
	ByBug   bool
	Filters []filter
	// Chosen reports that something was filtered.
	Chosen   bool
	Bugs     []*misstepv1.Bug
	Findings []*misstepv1.Finding
	// Total findings of the project.
	Total uint64
	// Next and First are the addresses of other parts of the list, as queries; empty when there are none.
	Next, First string
}

func (s *Site) findings(r *http.Request) (*page, error) {
	q := r.URL.Query()
	f := findingsPage{Now: s.Clock(), Filters: filtersOf(q)}
	for _, x := range f.Filters {
		f.Chosen = f.Chosen || x.Value != "" && x.Name != "sort" && x.Name != "by"
	}
	request, err := selection(q)
	if err != nil {
		return nil, err
	}
	by := q.Get("by")
	if by == "" && request.GetBug() != "" {
		by = "finding"
	}
	p := &page{template: "findings", title: "Findings", live: true}
	var next string
	switch by {
	case "", "bug":
		f.ByBug = true
		found, err := s.admin.ListBugs(r.Context(), listBugs(request))
		if err != nil {
			return nil, err
		}
		f.Bugs, f.Total, next = found.GetBugs(), found.GetTotal(), found.GetNextPageToken()
		p.json, p.csv = raws(f.Bugs), csvOfBugs(f.Bugs)
	case "finding":
		found, err := s.admin.ListFindings(r.Context(), request)
		if err != nil {
			return nil, err
		}
		f.Findings, f.Total, next = found.GetFindings(), found.GetTotal(), found.GetNextPageToken()
		p.json, p.csv = raws(f.Findings), csvOfFindings(f.Findings)
	default:
		return nil, status.Errorf(codes.InvalidArgument, "by: expected bug or finding, got %q", by)
	}
	if next != "" {
		f.Next = with(q, "page", next)
	}
	if request.GetPageToken() != "" {
		f.First = with(q, "page", "")
	}
	p.data = f
	return p, nil
}

// with returns a query with another value of one parameter.
func with(q url.Values, name, value string) string {
	changed := url.Values{}
	for k, v := range q {
		if k != name && slices.ContainsFunc(v, func(x string) bool { return x != "" }) {
			changed[k] = v
		}
	}
	if value != "" {
		changed.Set(name, value)
	}
	return "?" + changed.Encode()
}

// selection is the request that the parameters of an address ask for.
func selection(q url.Values) (*misstepv1.ListFindingsRequest, error) {
	request := &misstepv1.ListFindingsRequest{
		CampaignId: q.Get("campaign"), Kind: q.Get("kind"), Check: q.Get("check"), Jdk: q.Get("jdk"), Bug: q.Get("bug"),
		Doubted: q.Get("doubted") != "",
		Status:  q.Get("status"), State: q.Get("state"), Sort: q.Get("sort"), PageSize: pageSize, PageToken: q.Get("page"),
	}
	if since := q.Get("since"); since != "" {
		d, err := time.ParseDuration(since)
		if err != nil || d <= 0 {
			return nil, status.Errorf(codes.InvalidArgument, "since: expected a time such as 24h, got %q", since)
		}
		request.Since = durationpb.New(d)
	}
	if size := q.Get("page_size"); size != "" {
		n, err := strconv.ParseUint(size, 10, 16)
		if err != nil || n == 0 {
			return nil, status.Errorf(codes.InvalidArgument, "page_size: expected a number from 1 to 65535, got %q", size)
		}
		request.PageSize = uint32(n)
	}
	return request, nil
}

func filtersOf(q url.Values) []filter {
	list := func(name, label, empty string, values ...string) filter {
		f := filter{Name: name, Label: label, Value: q.Get(name), Choices: []choice{{"", empty, q.Get(name) == ""}}}
		for _, v := range values {
			f.Choices = append(f.Choices, choice{v, v, q.Get(name) == v})
		}
		return f
	}
	typed := func(name, label, hint string) filter {
		return filter{Name: name, Label: label, Value: q.Get(name), Hint: hint}
	}
	var checks []string
	for _, c := range recipe.Checks() {
		checks = append(checks, c.Name)
	}
	return []filter{
		list("by", "One row for each", "bug", "finding"),
		list("status", "Status", "new and known", "new", "known"),
		list("state", "State", "any", misstepv1.StateQuiet, misstepv1.StateBack),
		list("kind", "Kind", "any", signature.Kinds...),
		list("check", "Check", "any", checks...),
		typed("jdk", "JDK", "17, 17.0.15 or a name"),
		typed("campaign", "Campaign", "id"),
		typed("bug", "Bug", "id"),
		list("doubted", "Doubted", "yes and no", "yes"),
		typed("since", "Seen within", "24h"),
		list("sort", "Order", "new first", "rate", "hits", "first", "last", "kind", "jdk"),
	}
}

func csvOfBugs(bugs []*misstepv1.Bug) [][]string {
	rows := [][]string{{
		"bug", "status", "states", "findings", "hits", "rate hits", "rate trials", "rate low", "rate high", "JDKs", "kinds",
		"first seen", "last seen", "title", "history begin", "period seconds", "hits by period", "trials by period",
	}}
	for _, b := range bugs {
		r := b.GetRate()
		rows = append(rows, append([]string{
			b.GetId(), b.GetStatus(), strings.Join(b.GetStates(), " "), strings.Join(b.GetFindingIds(), " "), number(b.GetHits()),
			number(r.GetHits()), number(r.GetTries()), decimal(r.GetLow()), decimal(r.GetHigh()), strings.Join(b.GetJdks(), " "),
			strings.Join(b.GetKinds(), " "), stamp(b.GetFirstSeen()), stamp(b.GetLastSeen()), b.GetTitle(),
		}, cellsOfHistory(b.GetHistory())...))
	}
	return rows
}

func csvOfFindings(findings []*misstepv1.Finding) [][]string {
	rows := [][]string{{
		"finding", "known as", "kind", "hits", "JDKs", "first seen", "last seen", "title", "history begin", "period seconds",
		"hits by period", "trials by period",
	}}
	for _, f := range findings {
		rows = append(rows, append([]string{
			f.GetId(), f.GetKnownAs(), f.GetSignature().GetKind(), number(f.GetHits()), strings.Join(misstepv1.JDKNames(f), " "),
			stamp(f.GetFirstSeen()), stamp(f.GetLastSeen()), f.GetTitle(),
		}, cellsOfHistory(f.GetHistory())...))
	}
	return rows
}

// natural orders names with numbers in them by the numbers: "jdk9" before "jdk17".
func natural(a, b string) int {
	for a != "" && b != "" {
		x, restA := leadingNumber(a)
		y, restB := leadingNumber(b)
		if x != "" && y != "" {
			if c := cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)); c != 0 {
				return c
			}
			a, b = restA, restB
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

// leadingNumber splits off the digits at the beginning of a name, without zeros in front.
func leadingNumber(name string) (digits, rest string) {
	n := 0
	for n < len(name) && name[n] >= '0' && name[n] <= '9' {
		n++
	}
	if n == 0 {
		return "", name
	}
	return cmp.Or(strings.TrimLeft(name[:n], "0"), "0"), name[n:]
}
