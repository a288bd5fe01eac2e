package cireport

import (
	"bytes"
	"fmt"
	"net/url"
	"path/filepath"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
)

// fingerprint is the key of a finding's id, which is the same in each run (SARIF 2.1.0, 3.27.17).
const fingerprint = "misstepFinding/v1"

// SARIF returns the findings and what failed besides as a log of SARIF 2.1.0. Allowed findings are suppressed results.
func (r Report) SARIF() ([]byte, error) {
	driver := sarif.NewToolComponent().WithName("Misstep").WithVersion(r.Version)
	run := sarif.NewRun().WithTool(sarif.NewTool().WithDriver(driver))
	for _, c := range r.Cases {
		if c.State != Failed && c.State != Allowed {
			continue
		}
		rule := c.Rule
		if rule == "" {
			rule = c.Group
		}
		run.AddRule(rule).WithDescription(r.Command + ": " + rule)
		result := run.CreateResultForRule(rule).WithLevel("error").WithMessage(sarif.NewTextMessage(plain(text(c))))
		result.WithPartialFingerprints(map[string]string{fingerprint: c.Name})
		if c.State == Allowed {
			result.WithLevel("note").AddSuppression(
				sarif.NewSuppression().WithKind("external").WithStatus("accepted").WithJustification(plain(c.Summary)))
		}
		if c.Artifact != "" {
			result.AddLocation(sarif.NewLocationWithPhysicalLocation(sarif.NewPhysicalLocation().
				WithArtifactLocation(sarif.NewSimpleArtifactLocation(uri(c.Artifact)))))
		}
	}
	log := sarif.NewReport()
	log.AddRun(run)
	var b bytes.Buffer
	if err := log.PrettyWrite(&b); err != nil {
		return nil, fmt.Errorf("write the SARIF report: %w", err)
	}
	return append(b.Bytes(), '\n'), nil
}

// text is all that a case says.
func text(c Case) string {
	if c.Detail == "" {
		return c.Summary
	}
	return c.Summary + "\n" + c.Detail
}

// uri returns the reference to a file: relative to the repository's root where its path is relative.
func uri(path string) string {
	u := url.URL{Path: filepath.ToSlash(path)}
	if filepath.IsAbs(path) {
		u.Scheme = "file"
	}
	return u.String()
}
