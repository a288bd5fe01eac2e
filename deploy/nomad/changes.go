package nomad

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"
)

// Changes says in lines what registering a job would change, from the answer of Nomad's plan endpoint. What a new job or group
// consists of is not written out: its HCL shows it better.
func Changes(p *api.JobPlanResponse) string {
	var b strings.Builder
	d := p.Diff
	fmt.Fprintf(&b, "%s job %s: %s\n", signs[d.Type], d.ID, words[d.Type])
	if d.Type != added {
		lines(&b, "  ", d.Fields, d.Objects)
	}
	for _, g := range d.TaskGroups {
		updates := make([]string, 0, len(g.Updates))
		for _, what := range slices.Sorted(maps.Keys(g.Updates)) {
			if what != "ignore" && (g.Type != none || what != inPlace) {
				updates = append(updates, fmt.Sprintf("%d %s", g.Updates[what], what))
			}
		}
		if g.Type == none && len(updates) == 0 {
			continue
		}
		fmt.Fprintf(&b, "  %s group %s", signs[g.Type], g.Name)
		if len(updates) > 0 {
			fmt.Fprintf(&b, ": %s", strings.Join(updates, ", "))
		}
		b.WriteByte('\n')
		if g.Type == added {
			continue
		}
		lines(&b, "    ", g.Fields, g.Objects)
		for _, t := range g.Tasks {
			if t.Type != none {
				lines(&b, "    ", t.Fields, t.Objects)
			}
		}
	}
	for _, group := range slices.Sorted(maps.Keys(p.FailedTGAllocs)) {
		fmt.Fprintf(&b, "  ! group %s: %s\n", group, Unplaced(p.FailedTGAllocs[group]))
	}
	for warning := range strings.Lines(p.Warnings) {
		fmt.Fprintf(&b, "  ! %s\n", strings.TrimSpace(warning))
	}
	return b.String()
}

// Nomad's words for differences.
const (
	none  = "None"
	added = "Added"
	// inPlace is what Nomad does to allocations of an unchanged group: they stay, under the job's new index.
	inPlace = "in-place update"
)

var (
	signs = map[string]string{added: "+", "Deleted": "-", "Edited": "~", none: "="}
	words = map[string]string{added: "new", "Deleted": "removed", "Edited": "changed", none: "unchanged"}
)

// lines writes what differs.
func lines(b *strings.Builder, indent string, fields []*api.FieldDiff, objects []*api.ObjectDiff) {
	for _, f := range fields {
		if f.Type == "Edited" {
			fmt.Fprintf(b, "%s~ %s: %q -> %q\n", indent, f.Name, f.Old, f.New)
		} else if f.Type != none && (f.Old != "" || f.New != "") {
			fmt.Fprintf(b, "%s%s %s: %q\n", indent, signs[f.Type], f.Name, f.Old+f.New)
		}
	}
	for _, o := range objects {
		if o.Type != none {
			fmt.Fprintf(b, "%s%s %s\n", indent, signs[o.Type], o.Name)
			lines(b, indent+"  ", o.Fields, o.Objects)
		}
	}
}

// ineligible is Nomad's reason for a node that is like one which does not meet a constraint.
const ineligible = "computed class ineligible"

// Unnamed reports whether a plan does not name any of the constraints that keep nodes from a group.
func Unnamed(p *api.JobPlanResponse) bool {
	for _, m := range p.FailedTGAllocs {
		if len(m.ConstraintFiltered) == 1 && m.ConstraintFiltered[ineligible] > 0 {
			return true
		}
	}
	return false
}

// Unplaced says why no node can take an allocation.
func Unplaced(m *api.AllocationMetric) string {
	var reasons []string
	for _, name := range slices.Sorted(maps.Keys(m.ConstraintFiltered)) {
		reason := "do not meet " + name
		if name == ineligible {
			reason = "are like nodes that do not meet a constraint"
		}
		reasons = append(reasons, fmt.Sprintf("%d %s", m.ConstraintFiltered[name], reason))
	}
	for _, name := range slices.Sorted(maps.Keys(m.DimensionExhausted)) {
		reasons = append(reasons, fmt.Sprintf("%d have too little %s", m.DimensionExhausted[name], name))
	}
	if len(reasons) == 0 {
		reasons = append(reasons, "none is eligible in these datacentres")
	}
	return fmt.Sprintf("no node for it: of %d, %s", m.NodesEvaluated, strings.Join(reasons, ", "))
}
