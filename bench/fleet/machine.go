package main

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of the times in /proc/stat, see proc(5).
const tick = time.Second / 100

// busy returns the time for which this machine's processors have worked, on anything; 0 where there is no /proc.
func busy() time.Duration {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	return parseBusy(string(data))
}

func parseBusy(stat string) (sum time.Duration) {
	line, _, _ := strings.Cut(stat, "\n")
	// cpu user nice system idle iowait irq softirq steal …; guests are in user and nice.
	for i, field := range strings.Fields(line) {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil || i == 4 || i == 5 || i > 8 {
			continue
		}
		sum += time.Duration(n) * tick
	}
	return sum
}
