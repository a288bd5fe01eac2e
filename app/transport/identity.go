package transport

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// OwnIDs is the form of the URIs in certificates of `misstep pki`.
const OwnIDs = "misstep://runner/*"

// RunnerIDs says which URIs in certificates name runners: as they are, apart from one segment of the path, which is the name.
type RunnerIDs []runnerID

// runnerID is a URI with * in place of a segment of its path.
type runnerID struct {
	text         string
	scheme, host string
	path         []string
	name         int // index in path
}

// ParseRunnerIDs parses forms such as spiffe://example.org/misstep/runner/*.
func ParseRunnerIDs(forms []string) (RunnerIDs, error) {
	var all RunnerIDs
	for _, form := range forms {
		id, err := parseRunnerID(form)
		if err != nil {
			return nil, fmt.Errorf("%q: %w; expected a URI with * for the name as a segment of its path, such as %s", form, err,
				OwnIDs)
		}
		all = append(all, id)
	}
	return all, nil
}

func parseRunnerID(form string) (runnerID, error) {
	u, err := url.Parse(form)
	if err != nil {
		return runnerID{}, err
	}
	id := runnerID{text: form, name: -1}
	if id.scheme, id.host, id.path, err = split(u); err != nil {
		return runnerID{}, err
	}
	for i, segment := range id.path {
		switch {
		case segment == "*" && id.name >= 0:
			return runnerID{}, errors.New("two *")
		case segment == "*":
			id.name = i
		case strings.Contains(segment, "*"):
			return runnerID{}, errors.New("* beside other characters")
		}
	}
	if id.name < 0 || strings.Contains(id.host, "*") {
		return runnerID{}, errors.New("no * in its path")
	}
	return id, nil
}

// split returns the parts of a URI that has no others than scheme, host and path, none of them with escaped characters.
func split(u *url.URL) (scheme, host string, path []string, err error) {
	if u.Scheme == "" || u.Host == "" || u.Opaque != "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" ||
		strings.Contains(u.EscapedPath(), "%") || !strings.HasPrefix(u.Path, "/") {
		return "", "", nil, errors.New("more or less than scheme, host and path")
	}
	return strings.ToLower(u.Scheme), strings.ToLower(u.Host), strings.Split(u.Path[1:], "/"), nil
}

var runnerName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?$`)

// name returns the name that a URI gives a runner.
func (id runnerID) nameIn(u *url.URL) (string, bool) {
	scheme, host, path, err := split(u)
	if err != nil || scheme != id.scheme || host != id.host || len(path) != len(id.path) {
		return "", false
	}
	for i, segment := range id.path {
		if i != id.name && path[i] != segment {
			return "", false
		}
	}
	return path[id.name], runnerName.MatchString(path[id.name])
}

// Name returns the one name that a certificate gives a runner: letters, digits, dots, hyphens and underscores, at most 64.
func (ids RunnerIDs) Name(c *x509.Certificate) (string, error) {
	found := map[string]bool{}
	for _, u := range c.URIs {
		for _, id := range ids {
			if name, ok := id.nameIn(u); ok {
				found[name] = true
			}
		}
	}
	for name := range found {
		if len(found) == 1 {
			return name, nil
		}
	}
	uris := make([]string, 0, len(c.URIs))
	for _, u := range c.URIs {
		uris = append(uris, u.String())
	}
	forms := make([]string, 0, len(ids))
	for _, id := range ids {
		forms = append(forms, id.text)
	}
	if len(found) > 1 {
		return "", fmt.Errorf("the certificate names several runners (%s): each needs one of its own", strings.Join(uris, ", "))
	}
	return "", fmt.Errorf("the certificate names no runner: expected a URI of the form %s, it has %q; issue one with `misstep pki "+
		"issue runner`, or give the coordinator its form by --runner-id", strings.Join(forms, " or "), uris)
}
