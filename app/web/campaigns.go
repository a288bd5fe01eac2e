package web

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"misstep/app/compared"
	misstepv1 "misstep/proto/misstep/v1"
)

// campaignsPage lists the campaigns.
type campaignsPage struct {
	Now  time.Time
	Rows []campaignRow
	// More is the number of older ones that are left out.
	More int
}

func (s *Site) campaigns(r *http.Request) (*page, error) {
	all, err := s.admin.ListCampaigns(r.Context(), &misstepv1.ListCampaignsRequest{})
	if err != nil {
		return nil, err
	}
	p := campaignsPage{Now: s.Clock()}
	rows := [][]string{{"campaign", "name", "state", "owner", "trials", "trials a second", "findings", "submitted", "ended"}}
	for _, c := range all.GetCampaigns() {
		row := rowOf(c, p.Now)
		if len(p.Rows) < pageSize {
			p.Rows = append(p.Rows, row)
		} else {
			p.More++
		}
		rows = append(rows, []string{
			c.GetId(), c.GetCampaign().GetName(), row.State, c.GetOwner(), number(row.Finished), decimal(c.GetTrialsPerSecond()),
			number(len(c.GetFindingIds())), stamp(c.GetSubmitted()), stamp(c.GetEnded()),
		})
	}
	return &page{
		template: "campaigns", title: "Campaigns", data: p, json: raws(all.GetCampaigns()), csv: rows, live: true,
	}, nil
}

// campaignPage is what the page of a campaign shows.
type campaignPage struct {
	campaignRow
	Checks []checkRow
	// Compared counts by JDK, walker and check what was asked and compared.
	Compared []compared.Row
	Map      []mapTable
	YAML     string
	// Stop reports that the visitor's pages may stop it.
	Stop bool
}

// Doubts name the walkers of which little is known.
func (c campaignPage) Doubts() []string { return compared.Doubts(c.Compared) }

// UpTo bounds what could be wrong where nothing was found.
func (c campaignPage) UpTo() string {
	if len(c.GetFindingIds()) > 0 {
		return ""
	}
	return compared.UpTo(c.Compared)
}

// uncleanTrials are trials that ended otherwise than they should, grouped by outcome, JDK and reason.
type uncleanTrials struct {
	Part, Title string
	Groups      []*misstepv1.UnprovedTrials
}

// Unclean are the tables of such trials that have a row.
func (c campaignPage) Unclean() []uncleanTrials {
	return slices.DeleteFunc([]uncleanTrials{
		{"unproved", "What proved nothing", c.GetUnproved()},
		{"failed-beside", "What failed beside its findings", c.GetFailedBeside()},
	}, func(t uncleanTrials) bool { return len(t.Groups) == 0 })
}

// Again reports that a draft of a new campaign can begin with this one.
func (c campaignPage) Again() bool { return len(c.YAML) <= maxDraft }

// checkRow is a check with its verdicts.
type checkRow struct {
	*misstepv1.CheckCount
	// Verdicts by name, in the order of the bar.
	Verdicts []counted
	// Details of tolerated, unwalkable and void verdicts, by reason.
	Tolerated, Unwalkable, Void []counted
}

// mapTable is what was tried with one workload: flag sets by JDK.
type mapTable struct {
	Workload string
	FlagSets []string
	Rows     []mapRow
}

type mapRow struct {
	JDK   string
	Cells []cell
}

func (s *Site) campaign(r *http.Request) (*page, error) {
	request := &misstepv1.GetCampaignRequest{CampaignId: r.PathValue("id"), Combinations: true}
	response, err := s.admin.GetCampaign(r.Context(), request)
	if err != nil {
		return nil, err
	}
	c := response.GetCampaign()
	p := campaignPage{
		campaignRow: rowOf(c, s.Clock()), Map: mapOf(response.GetCombinations()), Compared: compared.Asked(compared.OfCampaign(c)),
	}
	p.Stop = p.State == "running" && visitOf(r.Context()).may(misstepv1.Role_ROLE_HUNTER)
	for _, check := range c.GetChecks() {
		p.Checks = append(p.Checks, checkRowOf(check))
	}
	if p.YAML, err = yamlOf(c.GetCampaign()); err != nil {
		return nil, err
	}
	return &page{
		template: "campaign", title: cmp.Or(c.GetCampaign().GetName(), c.GetId()), data: p, json: response, live: true,
		csv: csvOfCombinations(response.GetCombinations()),
	}, nil
}

func checkRowOf(c *misstepv1.CheckCount) checkRow {
	row := checkRow{CheckCount: c, Tolerated: countedOf(c.GetTolerated()), Void: countedOf(c.GetVoid())}
	unwalkable := map[string]uint64{}
	for code, n := range c.GetUnwalkable() {
		unwalkable[decimal(float64(code))] = n
	}
	row.Unwalkable = countedOf(unwalkable)
	sum := func(list []counted) (n uint64) {
		for _, x := range list {
			n += x.N
		}
		return n
	}
	for _, v := range []counted{
		{Name: "match", N: c.GetMatch()},
		{Name: "tolerated", N: sum(row.Tolerated)},
		{Name: "mismatch", N: c.GetMismatch()},
		{Name: "unwalkable", N: sum(row.Unwalkable)},
		{Name: "void", N: sum(row.Void)},
	} {
		if c.GetTotal() > 0 {
			v.Share = float64(v.N) / float64(c.GetTotal())
			row.Verdicts = append(row.Verdicts, v)
		}
	}
	return row
}

// mapOf arranges combinations as a table for each workload.
func mapOf(all []*misstepv1.TriedCombination) []mapTable {
	var tables []mapTable
	for _, c := range all {
		i := slices.IndexFunc(tables, func(t mapTable) bool { return t.Workload == c.GetWorkload() })
		if i < 0 {
			i = len(tables)
			tables = append(tables, mapTable{Workload: c.GetWorkload()})
		}
		if !slices.Contains(tables[i].FlagSets, c.GetFlagSet()) {
			tables[i].FlagSets = append(tables[i].FlagSets, c.GetFlagSet())
		}
		if !slices.ContainsFunc(tables[i].Rows, func(r mapRow) bool { return r.JDK == c.GetJdk() }) {
			tables[i].Rows = append(tables[i].Rows, mapRow{JDK: c.GetJdk()})
		}
	}
	slices.SortFunc(tables, func(a, b mapTable) int { return cmp.Compare(a.Workload, b.Workload) })
	for i := range tables {
		slices.Sort(tables[i].FlagSets)
		slices.SortFunc(tables[i].Rows, func(a, b mapRow) int { return natural(a.JDK, b.JDK) })
		for j, row := range tables[i].Rows {
			for _, flags := range tables[i].FlagSets {
				tables[i].Rows[j].Cells = append(tables[i].Rows[j].Cells, triedCell(all, row.JDK, tables[i].Workload, flags))
			}
		}
	}
	return tables
}

func triedCell(all []*misstepv1.TriedCombination, jdk, workload, flags string) cell {
	i := slices.IndexFunc(all, func(c *misstepv1.TriedCombination) bool {
		return c.GetJdk() == jdk && c.GetWorkload() == workload && c.GetFlagSet() == flags
	})
	if i < 0 {
		return cell{JDK: jdk, State: "not tried"}
	}
	return cellOf(&misstepv1.FindingRate{Jdk: jdk, Hits: all[i].GetHits(), Trials: all[i].GetTrials()})
}

func csvOfCombinations(all []*misstepv1.TriedCombination) [][]string {
	rows := [][]string{{"JDK", "workload", "flag set", "trials", "hits"}}
	for _, c := range all {
		rows = append(rows, []string{c.GetJdk(), c.GetWorkload(), c.GetFlagSet(), number(c.GetTrials()), number(c.GetHits())})
	}
	return rows
}
