package schedule

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// StopReport is a stop for display.
type StopReport struct {
	// Place is function and offset if the program has symbols, else the address as text.
	Place   string `json:"place"`
	Address uint64 `json:"address"`
	// Thread is the thread's path of creation, Comm its name, and Decision the index of its decision there.
	Thread   string        `json:"thread"`
	Comm     string        `json:"comm"`
	Decision uint32        `json:"decision"`
	Elapsed  time.Duration `json:"elapsed_ns"`
	Held     time.Duration `json:"held_ns"`
	Seen     int           `json:"seen"`
	Of       int           `json:"of"`
	// Left reports whether a replay removed the breakpoint because threads hit it too often.
	Left bool `json:"left,omitempty"`
}

// StopReports converts stops for display, with the functions of the program that the header names.
func StopReports(stops []Stop, names ThreadNames, h Header) []StopReport {
	all := []StopReport{}
	if len(stops) == 0 {
		return all
	}
	program := symbolsOf(h)
	for _, s := range stops {
		all = append(all, StopReport{
			Place: program.name(s.Place), Address: s.Place, Thread: names.Name(s.Path), Comm: Printable(s.Comm),
			Decision: s.Counter, Elapsed: s.Elapsed, Held: time.Duration(s.Held), Seen: s.Seen, Of: s.Of,
		})
	}
	return all
}

// WriteStops writes stops as a table.
func WriteStops(w io.Writer, stops []StopReport) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "PLACE\tADDRESS\tTHREAD\tNAME\tDECISION\tAFTER\tHELD\tSEEN")
	for _, s := range stops {
		left := ""
		if s.Left {
			left = ", in a busy loop: removed"
		}
		fmt.Fprintf(t, "%s\t%#x\t%s\t%s\t%d\t%v\t%v\t%d of %d%s\n",
			s.Place, s.Address, s.Thread, s.Comm, s.Decision, s.Elapsed, s.Held, s.Seen, s.Of, left)
	}
	_ = t.Flush()
}
