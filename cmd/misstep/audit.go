package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	misstepv1 "misstep/proto/misstep/v1"
)

type auditCommand struct {
	accountsFlags
	Since sinceFlag `help:"Only what is not older: a time back from now (24h), a day (2026-11-26) or a time (2026-11-26T08:00:00Z)." placeholder:"TIME"`
	By    string    `help:"Only what that caller did, e.g. anna@example.org, \"token ci\" or anonymous." placeholder:"NAME"`
	Limit uint32    `within:"[1,1000000]" help:"At most this many entries, the newest." default:"100" placeholder:"N"`
	JSON  bool      `help:"Print a list of entries."`
}

// sinceFlag is a time in the past.
type sinceFlag struct{ at time.Time }

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *sinceFlag) UnmarshalText(text []byte) error {
	if d, err := parseTime(string(text)); err == nil && d >= 0 {
		f.at = time.Now().Add(-d)
		return nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.ParseInLocation(layout, string(text), time.Local); err == nil {
			f.at = at
			return nil
		}
	}
	return fmt.Errorf("%q: expected a time back from now such as 24h, a day such as 2026-11-26 or a time such as "+
		"2026-11-26T08:00:00Z", text)
}

// auditPage is the number of entries that are asked for at once, the most that there may be.
const auditPage = 1000

// Run shows the log, the newest entry last.
func (c *auditCommand) Run(ctx context.Context, e *env) error {
	api, done, err := c.open(ctx, e, false)
	if err != nil {
		return err
	}
	defer done()
	var all []*misstepv1.AuditEntry
	request := &misstepv1.ListAuditRequest{By: c.By}
	if !c.Since.at.IsZero() {
		request.Since = timestamppb.New(c.Since.at)
	}
	for left := c.Limit; left > 0; left = c.Limit - uint32(len(all)) {
		request.Limit = min(left, auditPage)
		r, err := api.ListAudit(ctx, request)
		if err != nil {
			return err
		}
		all = append(all, r.GetEntries()...)
		if request.Before = r.GetNext(); request.GetBefore() == 0 {
			break
		}
	}
	slices.Reverse(all)
	if c.JSON {
		return e.json(raws(all))
	}
	return renderAudit(e.stdout, all)
}

func renderAudit(w io.Writer, all []*misstepv1.AuditEntry) error {
	t := table(w)
	fmt.Fprintln(t, "time\tcaller\tfrom\tcall\tanswer\tabout")
	for _, entry := range all {
		call := entry.GetCall()[strings.LastIndexByte(entry.GetCall(), '/')+1:]
		if n := entry.GetCount(); n > 1 {
			call = fmt.Sprintf("%s, %d times", call, n)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", entry.GetAt().AsTime().Local().Format(time.RFC3339), plain(entry.GetCaller()),
			orDash(plain(entry.GetAddress())), plain(call), entry.GetCode(), plain(entry.GetSubject()))
	}
	return t.Flush()
}
