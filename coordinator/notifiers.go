package coordinator

import (
	"cmp"
	"slices"

	"misstep/coordinator/notify"
	"misstep/coordinator/projects"
	"misstep/coordinator/store"
	"misstep/coordinator/store/scoped"
	"misstep/coordinator/view"
	"misstep/coordinator/visibility"
	misstepv1 "misstep/proto/misstep/v1"
)

// notifiers returns one for each project that a target is of.
func (s *Server) notifiers() (all []*notify.Notifier) {
	by := map[string]*notify.Notifier{}
	for _, t := range s.config.Notify {
		project := cmp.Or(t.Project, projects.Default)
		n := by[project]
		if n == nil {
			n = &notify.Notifier{
				Store: s.config.Store, Clock: s.config.Clock, NewID: func() string { return s.newID("N", 8) },
				Project: project, Logger: s.config.Logger,
				See: func(whole store.Tx) (notify.Snapshot, error) { return s.snapshot(whole, project) },
			}
			by[project] = n
			all = append(all, n)
		}
		n.Targets = append(n.Targets, t)
	}
	return all
}

// snapshot returns what notifications of a project are about; those of the default one also which owners of runners, who serve all
// projects, are set aside. Whoever reads them is nobody in particular, from whom each finding
// that is private or under an embargo is hidden; when an embargo ends, the finding is a new one.
func (s *Server) snapshot(whole store.Tx, project string) (notify.Snapshot, error) {
	tx := scoped.See(scoped.In(whole, project), visibility.Reader{}, s.config.Clock())
	findings, err := s.view.Findings(tx, view.Selection{})
	if err != nil {
		return notify.Snapshot{}, err
	}
	all, err := tx.Reproductions(false)
	if err != nil {
		return notify.Snapshot{}, err
	}
	done := slices.DeleteFunc(all, func(r *misstepv1.Reproduction) bool {
		return r.GetState() == misstepv1.ReproductionState_REPRODUCTION_STATE_RUNNING
	})
	if project != projects.Default {
		return notify.Snapshot{Findings: findings.All, Done: done}, nil
	}
	aside, err := setAside(whole)
	return notify.Snapshot{Findings: findings.All, Done: done, Aside: aside.GetByOwner()}, err
}
