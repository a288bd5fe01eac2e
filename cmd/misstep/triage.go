package main

import (
	"context"
	"os"

	"misstep/app/report"
	"misstep/app/station"
	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
)

type triageCommand struct {
	coordinatorFlags
	Files []string `arg:"" name:"file" help:"Error files (hs_err_pidNNN.log) and thread dumps, or logs that have them, also compressed by gzip; - is stdin." predictor:"file" placeholder:"FILE"`
	JSON  bool     `help:"Print a list of answers."`
}

// Help is shown below the command's usage.
func (c *triageCommand) Help() string {
	return "For each crash and hang: the id of its finding, the signature, the known bug with the versions that have it, the\n" +
		"facts and the rule that decided. With --dir or --coordinator also the known bugs and the findings there that\n" +
		"are the same or near.\n" +
		"A file that is neither does not keep the others from being answered."
}

// Run identifies crash reports and thread dumps.
func (c *triageCommand) Run(ctx context.Context, e *env) error {
	t := report.Triage{Stdin: os.Stdin, Known: known.Default()}
	if c.Dir != "" || len(c.Coordinator) > 0 {
		st, err := c.open(e)
		if err != nil {
			return err
		}
		defer st.Close()
		if t.Findings, _, err = station.Findings(ctx, st, &misstepv1.ListFindingsRequest{}); err != nil {
			return err
		}
		bugs, err := st.ListKnownBugs(ctx, &misstepv1.ListKnownBugsRequest{})
		if err != nil {
			return err
		}
		own, err := known.Own(bugs.GetBugs())
		if err != nil {
			return err
		}
		t.Known = t.Known.With(own)
	}
	answers, failed := t.Files(c.Files)
	if c.JSON {
		if answers == nil {
			answers = []report.Answer{}
		}
		if err := e.json(answers); err != nil {
			return err
		}
	} else {
		renderAnswers(e.stdout, answers)
	}
	for _, err := range failed {
		e.say("misstep: %v", err)
	}
	if len(failed) > 0 {
		return &exitError{code: exitFailed}
	}
	return nil
}
