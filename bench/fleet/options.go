package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"misstep/bench"
)

// options say what is measured. The environment narrows them.
type options struct {
	budget time.Duration
	// stores by name.
	stores []string
	// fleets are numbers of runners; narrowed says that the environment names them.
	fleets   []int
	narrowed bool
	// parts of the benchmark, empty for all.
	parts string
	// stocks are numbers of results that the store holds before.
	stocks []int
	// profiles is the folder for processor profiles of the coordinators, empty for none.
	profiles string
	// observed says whether the cost of metrics and traces is measured, too.
	observed bool
	// guarded says whether the cost of TLS, authentication and limits is measured, too.
	guarded bool
	// before is a program of an earlier version, whose coordinators are measured beside; empty for none.
	before string
	// keep continues with the stores in files that an earlier run has filled.
	keep bool
}

// The parts of the benchmark.
const (
	partCells   = "cells"
	partRecipes = "recipes"
	partReads   = "reads"
	partStorms  = "storms"
)

// measures reports whether a part is measured.
func (o options) measures(part string) bool {
	return o.parts == "" || slices.Contains(strings.Split(o.parts, ","), part)
}

func readOptions(env func(string) string) (o options, err error) {
	if o.budget, err = bench.Budget(env("BUDGET")); err != nil {
		return o, err
	}
	o.stores = []string{"sqlite", "memory", "postgres"}
	if text := env("STORES"); text != "" {
		all := o.stores
		o.stores = strings.Split(text, ",")
		for _, s := range o.stores {
			if !slices.Contains(all, s) {
				return o, fmt.Errorf("STORES=%s: expected some of %s, joined by commas", text, strings.Join(all, ", "))
			}
		}
	}
	if o.fleets, err = numbers(env, "RUNNERS", 1, 100, 1000, 10_000); err != nil {
		return o, err
	}
	o.before = env("BEFORE")
	o.narrowed, o.parts = env("RUNNERS") != "", env("PARTS")
	o.stocks, err = numbers(env, "STORED", 0, 0, 1e5, 1e6, 1e7)
	o.profiles, o.keep = env("PROFILES"), env("KEEP") == "yes"
	o.observed, o.guarded = env("OBSERVED") != "no", env("GUARDED") != "no"
	return o, err
}

// numbers reads a list of numbers, such as 100,1000 or 1e6; standard is the list without a variable.
func numbers(env func(string) string, name string, least int, standard ...int) ([]int, error) {
	text := env(name)
	if text == "" {
		return standard, nil
	}
	var all []int
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.ParseFloat(part, 64)
		if err != nil || n < float64(least) || n > 1e9 {
			return nil, fmt.Errorf("%s=%s: expected numbers from %d on, joined by commas, such as 100,1e6", name, text, least)
		}
		all = append(all, int(n))
	}
	slices.Sort(all)
	return all, nil
}
