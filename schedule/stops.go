package schedule

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// StopReport is a stop for people.
type StopReport struct {
	// Place as function and offset, where the program tells, and its address.
	Place   string `json:"place"`
	Address uint64 `json:"address"`
	// Thread by its path of creation and its name, and its own decision there.
	Thread   string        `json:"thread"`
	Comm     string        `json:"comm"`
	Decision uint32        `json:"decision"`
	Elapsed  time.Duration `json:"elapsed_ns"`
	Held     time.Duration `json:"held_ns"`
	Seen     int           `json:"seen"`
	Of       int           `json:"of"`
	// Left says that a replay took the breakpoint away, since threads came there too often.
	Left bool `json:"left,omitempty"`
}

// StopReports writes stops for people, with the functions of the program that the header names.
func StopReports(stops []Stop, names ThreadNames, h Header) []StopReport {
	all := []StopReport{}
	if len(stops) == 0 {
		return all
	}
	program := symbolsOf(h)
	for _, s := range stops {
		all = append(all, StopReport{
			Place: program.name(s.Place), Address: s.Place, Thread: names.Name(s.Path), Comm: Printable(s.Comm), Decision: s.Counter,
			Elapsed: s.Elapsed, Held: time.Duration(s.Held), Seen: s.Seen, Of: s.Of,
		})
	}
	return all
}

// WriteStops writes them as a table.
func WriteStops(w io.Writer, stops []StopReport) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "PLACE\tADDRESS\tTHREAD\tNAME\tDECISION\tAFTER\tHELD\tSEEN")
	for _, s := range stops {
		left := ""
		if s.Left {
			left = ", in a busy loop: left"
		}
		fmt.Fprintf(t, "%s\t%#x\t%s\t%s\t%d\t%v\t%v\t%d of %d%s\n",
			s.Place, s.Address, s.Thread, s.Comm, s.Decision, s.Elapsed, s.Held, s.Seen, s.Of, left)
	}
	_ = t.Flush()
}
