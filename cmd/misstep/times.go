package main

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// parseTime is time.ParseDuration that also understands whole days, such as 30d.
func parseTime(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		const day = 24 * time.Hour
		if n, err := strconv.ParseUint(days, 10, 63); err == nil && n <= uint64(math.MaxInt64/day) {
			return time.Duration(n) * day, nil
		}
	} else if d, err := time.ParseDuration(text); err == nil {
		return d, nil
	}
	return 0, fmt.Errorf("%q: expected a time such as 90s, 36h or 30d", text)
}

// timeMapper reads flags and arguments that are times.
func timeMapper(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("time", &text); err != nil {
		return err
	}
	d, err := parseTime(text)
	if err == nil {
		target.SetInt(int64(d))
	}
	return err
}
