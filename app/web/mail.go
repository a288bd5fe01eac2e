package web

import (
	"bytes"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"slices"

	"golang.org/x/net/html"

	"misstep/coordinator/access"
)

// Mail returns the page of a finding, by its whole id, as one HTML file for somebody who cannot reach this site. It refers to
// nothing outside of it, and leaves out who found or decided what, where evidence lies, and what only commands of this site do.
func (s *Site) Mail(ctx context.Context, finding string) ([]byte, error) {
	v := &visit{format: "html", caller: &access.Caller{}}
	r, err := http.NewRequestWithContext(context.WithValue(ctx, visitKey{}, v), http.MethodGet, "/findings/", http.NoBody)
	if err != nil {
		return nil, err
	}
	r.SetPathValue("id", finding)
	p, err := s.finding(r)
	if err != nil {
		return nil, err
	}
	style, err := static.ReadFile("static/style.css")
	if err != nil {
		return nil, err
	}
	f := p.data.(findingPage)
	f.Mailed, f.Triage = true, false
	text, err := p.render("mail", struct {
		shell
		Style template.CSS
	}{shell{Title: p.title, Data: f}, template.CSS(style)}) //nolint:gosec // the style sheet is ours
	if err != nil {
		return nil, err
	}
	return standing(text)
}

// standing makes a page refer to nothing: a link becomes its text, and a time that counts from now the date in its title.
func standing(page []byte) ([]byte, error) {
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		return nil, fmt.Errorf("read the page that was made: %w", err)
	}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.Data {
		case "a":
			n.Data, n.DataAtom, n.Attr = "span", 0, nil
		case "time":
			title := slices.IndexFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "title" })
			if title >= 0 && n.FirstChild != nil {
				n.FirstChild.Data = n.Attr[title].Val
			}
		}
	}
	var b bytes.Buffer
	err = html.Render(&b, doc)
	return b.Bytes(), err
}
