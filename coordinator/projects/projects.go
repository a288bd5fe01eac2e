// Package projects has the names of the projects that share a coordinator, and the keys under which a store keeps their rows.
//
// A row of project p has the key "@p/" and its id; one of the project "default" has its id as the key, as all rows have in stores
// without projects.
package projects

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"misstep/internal/suggest"
)

// Default is the project of calls that name none, and of everything in stores without projects.
const Default = "default"

// mark begins a key of another project than the default one. No id begins with it.
const mark = "@"

// nameRE has no slash, which ends the name in a key.
var nameRE = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// Check returns an error unless a name may be that of a project.
func Check(name string) error {
	if !nameRE.MatchString(name) {
		return fmt.Errorf("expected the name of a project: at most 64 of a-z, 0-9, '.', '_' and '-', beginning with a letter or a "+
			"digit, got %s", suggest.Quote(name))
	}
	return nil
}

// IsKey reports whether an id that somebody chose would be taken for a key of a project.
func IsKey(id string) bool { return strings.HasPrefix(id, mark) }

// Key returns the key of an id in a project.
func Key(project, id string) string {
	if project == Default {
		return id
	}
	return mark + project + "/" + id
}

// Split returns the project and the id of a key.
func Split(key string) (project, id string) {
	if rest, ok := strings.CutPrefix(key, mark); ok {
		if project, id, ok = strings.Cut(rest, "/"); ok {
			return project, id
		}
	}
	return Default, key
}

// Of returns the projects of some rows, each once, by name.
func Of[R any](rows []R, key func(R) string) []string {
	var all []string
	for _, r := range rows {
		project, _ := Split(key(r))
		all = append(all, project)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
