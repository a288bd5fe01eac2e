package bpf

import (
	"fmt"

	"misstep/schedule"
)

// Run lists the places.
func (c *placesCommand) Run(s *streams) error {
	if c.Count < 1 {
		return fmt.Errorf("--count %d: want 1 or more", c.Count)
	}
	log, err := readReplayable(s, c.File)
	if err != nil {
		return fmt.Errorf("places: %w", err)
	}
	stops, err := log.Stops(c.Round)
	if err != nil {
		return fmt.Errorf("places: %w", err)
	}
	names := schedule.ThreadNames{}
	for _, t := range log.Threads {
		names.Add(t)
	}
	reports := schedule.StopReports(stops[:min(c.Count, len(stops))], names, log.Header)
	if c.JSON {
		return printJSON(s.stdout, reports)
	}
	if len(reports) == 0 {
		fmt.Fprintln(s.stdout, "no place is rare: threads lost their CPU near the log's end where they did before, or where nothing "+
			"can be told from")
		return nil
	}
	schedule.WriteStops(s.stdout, reports)
	return nil
}
