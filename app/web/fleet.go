package web

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	misstepv1 "misstep/proto/misstep/v1"
)

// fleetPage shows the runners.
type fleetPage struct {
	Now     time.Time
	Sum     fleetSum
	Runners []*misstepv1.RunnerStatus
	// Admin reports that the visitor may drain runners, and trust owners again.
	Admin bool
}

// State of a runner in a word.
func (fleetPage) State(r *misstepv1.RunnerStatus) string {
	switch {
	case r.GetSetAside() != "":
		return "set aside"
	case r.GetDraining() != nil:
		return "draining"
	case r.GetNotReady() != "":
		return "not ready"
	case r.GetHeldBack() != "":
		return "held back"
	}
	return "ready"
}

// Why a runner takes no work, or less than it could.
func (fleetPage) Why(r *misstepv1.RunnerStatus) string {
	return cmp.Or(r.GetSetAside(), r.GetNotReady(), r.GetHeldBack())
}

func (s *Site) fleet(r *http.Request) (*page, error) {
	all, err := s.admin.ListRunners(r.Context(), &misstepv1.ListRunnersRequest{})
	if err != nil {
		return nil, err
	}
	p := fleetPage{
		Now: s.Clock(), Sum: sumOf(all.GetRunners()), Runners: all.GetRunners(),
		Admin: visitOf(r.Context()).may(misstepv1.Role_ROLE_ADMIN),
	}
	rows := [][]string{{
		"runner", "host", "owner", "state", "why", "slots", "running", "capabilities", "agent", "last call",
	}}
	for _, one := range p.Runners {
		rows = append(rows, []string{
			one.GetRunner().GetId(), one.GetRunner().GetHost(), one.GetOwner(), p.State(one), p.Why(one),
			number(one.GetRunner().GetSlots()), number(one.GetRunning()), strings.Join(one.GetRunner().GetCapabilities(), " "),
			one.GetRunner().GetAgentDigest(), stamp(one.GetLastCall()),
		})
	}
	return &page{template: "fleet", title: "Fleet", data: p, json: raws(p.Runners), csv: rows, live: true}, nil
}
