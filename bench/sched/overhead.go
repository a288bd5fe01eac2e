package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"misstep/bpf"
	"misstep/schedule"
)

// loads are programs that are timed without a scheduler and under one that perturbs nothing.
var loads = []struct{ name, arguments string }{
	{"CPU-bound", "spin"},
	{"a wake-up every 100 µs", "wakeups 18000"},
	{"nothing but wake-ups", "wakeups 0"},
}

const overheadRounds = 3

// load is one run.
type load struct {
	Name     string  `json:"name"`
	Attached bool    `json:"attached"`
	Seconds  float64 `json:"seconds"`
}

func (l *lab) overhead(ctx context.Context, s *store) error {
	if len(s.of(kindOverhead, l.policy)) >= 2*overheadRounds*len(loads) {
		return nil
	}
	c, err := l.machine(nil, 1)
	if err != nil {
		return err
	}
	var all []entry
	err = boot(ctx, c, "overhead", guestSelf, func(line []byte) error {
		var x load
		if err := json.Unmarshal(line, &x); err != nil {
			return fmt.Errorf("reading a result of the guest: %w: %.200q", err, line)
		}
		all = append(all, entry{Kind: kindOverhead, Fingerprint: l.policy, Overhead: &x})
		return nil
	})
	if err != nil {
		return err
	}
	for _, e := range all {
		if err := s.Add(e); err != nil {
			return err
		}
	}
	return nil
}

func guestOverhead(ctx context.Context) error {
	out := json.NewEncoder(os.Stdout)
	for range overheadRounds {
		for _, x := range loads {
			for _, attached := range []bool{false, true} {
				seconds, err := runLoad(ctx, strings.Fields(x.arguments), attached)
				if err != nil {
					return fmt.Errorf("%s: %w", x.name, err)
				}
				if err := out.Encode(load{x.name, attached, seconds}); err != nil {
					return fmt.Errorf("writing a result: %w", err)
				}
			}
		}
	}
	return nil
}

func runLoad(ctx context.Context, arguments []string, attached bool) (float64, error) {
	var output bytes.Buffer
	cmd := exec.Command(filepath.Join(os.Getenv(racesVariable), "load"), arguments...)
	cmd.Stdout, cmd.Stderr = &output, &output
	if attached {
		r, err := bpf.Run(ctx, bpf.Options{Perturbation: schedule.Perturbation{Strategy: "none"}}, cmd)
		if err != nil {
			return 0, err
		}
		if r.Report.Ejection != nil || r.Report.Decisions == 0 {
			return 0, fmt.Errorf("the scheduler did nothing: %s", r.Report.Ejection)
		}
	} else if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("%w: %s", err, &output)
	}
	return strconv.ParseFloat(strings.TrimSpace(output.String()), 64)
}
