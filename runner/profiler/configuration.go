package profiler

import (
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// configuration returns a configuration of JFR (.jfc): the samplers at an interval, and the events whose stack traces are worth
// judging. Settings, "EVENT#SETTING", add to it or replace what it has. JDKs ignore events that they lack, so that one
// configuration serves all.
func configuration(interval time.Duration, settings map[string]string) ([]byte, error) {
	// JFR's execution sampler counts whole milliseconds.
	period := fmt.Sprintf("%d ms", max(1, interval.Milliseconds()))
	all := map[string]map[string]string{
		"jdk.ExecutionSample":    {"period": period},
		"jdk.NativeMethodSample": {"period": period},
		"jdk.CPUTimeSample":      {"throttle": fmt.Sprintf("%d us", interval.Microseconds()), "stackTrace": "true"}, // JEP 509
		"jdk.CPUTimeSamplesLost": {},
		"jdk.DataLoss":           {},
		"jdk.ActiveSetting":      {},
		// Allocations: the two up to 15, the sampled one later.
		"jdk.ObjectAllocationInNewTLAB":   {"stackTrace": "true"},
		"jdk.ObjectAllocationOutsideTLAB": {"stackTrace": "true"},
		"jdk.ObjectAllocationSample":      {"stackTrace": "true", "throttle": "300/s"},
		// Threads that wait.
		"jdk.JavaMonitorEnter":   {"stackTrace": "true", "threshold": "100 us"},
		"jdk.JavaMonitorWait":    {"stackTrace": "true", "threshold": "1 ms"},
		"jdk.JavaMonitorInflate": {"stackTrace": "true", "threshold": "0 ms"},
		"jdk.ThreadPark":         {"stackTrace": "true", "threshold": "1 ms"},
		"jdk.ThreadSleep":        {"stackTrace": "true", "threshold": "1 ms"},
		// What chunks refer to.
		"jdk.ThreadStart":    {"stackTrace": "true"},
		"jdk.ThreadEnd":      {},
		"jdk.ClassDefine":    {"stackTrace": "true"},
		"jdk.ClassUnload":    {},
		"jdk.JavaErrorThrow": {"stackTrace": "true"},
		"jdk.Deoptimization": {"stackTrace": "true"},
	}
	for event := range all {
		all[event]["enabled"] = "true"
	}
	// They transform methods (JEP 520), which changes what is walked.
	all["jdk.MethodTrace"], all["jdk.MethodTiming"] = map[string]string{"enabled": "false"}, map[string]string{"enabled": "false"}
	for key, value := range settings {
		event, setting, _ := strings.Cut(key, "#")
		if all[event] == nil {
			all[event] = map[string]string{"enabled": "true"}
		}
		all[event][setting] = value
	}
	return marshal(all)
}

type xmlConfiguration struct {
	XMLName struct{}   `xml:"configuration"`
	Version string     `xml:"version,attr"`
	Label   string     `xml:"label,attr"`
	Events  []xmlEvent `xml:"event"`
}

type xmlEvent struct {
	Name     string       `xml:"name,attr"`
	Settings []xmlSetting `xml:"setting"`
}

type xmlSetting struct {
	Name  string `xml:"name,attr"`
	Value string `xml:",chardata"`
}

// marshal writes the settings of events in the order of their names.
func marshal(all map[string]map[string]string) ([]byte, error) {
	c := xmlConfiguration{Version: "2.0", Label: "Misstep"}
	for _, event := range slices.Sorted(maps.Keys(all)) {
		e := xmlEvent{Name: event}
		for _, setting := range slices.Sorted(maps.Keys(all[event])) {
			e.Settings = append(e.Settings, xmlSetting{setting, all[event][setting]})
		}
		c.Events = append(c.Events, e)
	}
	text, err := xml.MarshalIndent(c, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write JFR configuration: %w", err)
	}
	return append([]byte(xml.Header), append(text, '\n')...), nil
}
