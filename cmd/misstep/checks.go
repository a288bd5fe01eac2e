package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"

	"google.golang.org/protobuf/encoding/protojson"

	"misstep/agent"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

type agentCommand struct {
	Options agentOptions `cmd:"" help:"List every option of the agent: values, default, field of the recipe, meaning."`
}

type agentOptions struct {
	JSON bool `help:"Print a list of options."`
}

// Run prints the table.
func (c *agentOptions) Run(e *env) error {
	if c.JSON {
		return e.json(agent.OptionTable())
	}
	t := table(e.stdout)
	fmt.Fprintln(t, "option\tvalues\tdefault\trecipe\tmeaning")
	for _, o := range agent.OptionTable() {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", o.Key, o.Values, o.Default, o.Recipe, o.Meaning)
	}
	return t.Flush()
}

type checksCommand struct {
	coordinatorFlags
	Campaign string `help:"Show the counters of this campaign: its id or a prefix of it." placeholder:"ID" xor:"counts"`
	Outcome  string `help:"Show the counters of the run whose outcome is in this file, as printed by run --json." type:"existingfile" placeholder:"FILE" xor:"counts"`
	JSON     bool   `help:"Print the catalogue, with the counters if asked for."`
}

// checkWords is what `misstep checks --json` prints.
type checkWords struct {
	recipe.Catalogue
	Counts []raw `json:"counts,omitempty"`
}

// Run lists the checks and the words of their verdicts, with their counters where there are some to look at.
func (c *checksCommand) Run(ctx context.Context, e *env) error {
	counts, err := c.counts(ctx, e)
	if err != nil {
		return err
	}
	words := recipe.Words()
	if c.JSON {
		return e.json(checkWords{words, raws(counts)})
	}
	renderWords(e.stdout, words, counts, c.Campaign != "" || c.Outcome != "")
	return nil
}

func (c *checksCommand) counts(ctx context.Context, e *env) ([]*misstepv1.CheckCount, error) {
	switch {
	case c.Outcome != "":
		text, err := os.ReadFile(c.Outcome)
		if err != nil {
			return nil, err
		}
		var outcome misstepv1.Outcome
		if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(text, &outcome); err != nil {
			return nil, fmt.Errorf("read the outcome in %s (expected what `misstep run --json` prints): %w", c.Outcome, err)
		}
		if outcome.GetKind() == misstepv1.OutcomeKind_OUTCOME_KIND_UNSPECIFIED {
			return nil, fmt.Errorf("%s holds no outcome: it has no kind; expected what `misstep run --json` prints", c.Outcome)
		}
		return outcome.GetChecks(), nil
	case c.Campaign != "":
		st, err := c.open(e)
		if err != nil {
			return nil, err
		}
		defer st.Close()
		response, err := st.GetCampaign(ctx, &misstepv1.GetCampaignRequest{CampaignId: c.Campaign})
		if err != nil {
			return nil, err
		}
		return response.GetCampaign().GetChecks(), nil
	}
	return nil, nil
}

// renderWords prints one table for each list. Counts are per word, of all checks together; those of each check come after.
func renderWords(w io.Writer, words recipe.Catalogue, counts []*misstepv1.CheckCount, counted bool) {
	byWord := map[string]uint64{}
	for _, c := range counts {
		byWord["check "+c.GetCheck()] += c.GetTotal()
		for name, n := range c.GetTolerated() {
			byWord["rule "+name] += n
		}
		for name, n := range c.GetVoid() {
			byWord["reason "+name] += n
		}
		for code, n := range c.GetUnwalkable() {
			byWord["code "+strconv.Itoa(int(code))] += n
		}
	}
	var rows []textRow
	for _, list := range []struct {
		title, prefix string
		words         []recipe.Word
	}{
		{"CHECKS", "check ", recipe.CheckWords(words.Checks)},
		{"RULES that tolerate a difference", "rule ", words.Rules},
		{"REASONS for which a check is void", "reason ", words.Reasons},
		{"KINDS of mismatches", "", words.Kinds},
		{"CODES of AsyncGetCallTrace, counted as unwalkable", "code ", words.Codes},
		{"PROFILERS whose recordings are judged", "", words.Profilers},
	} {
		rows = append(rows, textRow{cells: []string{list.title}})
		for _, word := range list.words {
			cells := []string{"  " + word.Name}
			if counted {
				count := ""
				if list.prefix != "" {
					count = strconv.FormatUint(byWord[list.prefix+word.Name], 10)
				}
				cells = append(cells, count)
			}
			rows = append(rows, textRow{cells, []string{fmt.Sprintf("%s (%s)", word.Meaning, word.Source)}})
		}
	}
	renderTexts(w, rows)
	if counted {
		renderChecks(w, counts, nil)
	}
}
