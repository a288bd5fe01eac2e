package jfrcheck

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// nativeEvent samples threads in native code, most of which wait. It is compared where it is named or both have nothing else.
const nativeEvent = "jdk.NativeMethodSample"

// chooseEvents returns the types of event that are compared: those that are named, else the one of which both have most.
func chooseEvents(a, b *profiles, eventA, eventB string) (string, string) {
	both := func(name string) uint64 { return min(a.usable(name), b.usable(name)) }
	switch {
	case eventA == "" && eventB == "":
		if eventA = most(a.types(), both); eventA != "" {
			return eventA, eventA
		}
	case eventA == "" && a.usable(eventB) > 0:
		eventA = eventB
	case eventB == "" && b.usable(eventA) > 0:
		eventB = eventA
	}
	if eventA == "" {
		eventA = most(a.types(), a.usable)
	}
	if eventB == "" {
		eventB = most(b.types(), b.usable)
	}
	return eventA, eventB
}

// most returns the type with the most samples, empty if none has any.
func most(types []string, usable func(string) uint64) (event string) {
	for _, name := range types {
		if name != nativeEvent && usable(name) > 0 && (event == "" || usable(name) > usable(event)) {
			event = name
		}
	}
	if event == "" && usable(nativeEvent) > 0 {
		return nativeEvent
	}
	return event
}

// types are those that there may be.
func (p *profiles) types() []string {
	if p.foreign {
		return slices.Sorted(maps.Keys(p.of))
	}
	return slices.Sorted(maps.Keys(samplerTypes))
}

func (p *profiles) usable(event string) uint64 {
	if p.of[event] == nil {
		return 0
	}
	return p.of[event].usable
}

// get returns the profile of a type of event.
func (p *profiles) get(event string) (*profile, error) {
	if p.usable(event) > 0 {
		return p.of[event], nil
	}
	types := p.types()
	if has := slices.DeleteFunc(slices.Clone(types), func(name string) bool { return p.usable(name) == 0 }); len(has) > 0 {
		return nil, fmt.Errorf("it has no samples with a stack trace of %s, but of %s", event, strings.Join(has, ", "))
	}
	return nil, fmt.Errorf("it has no samples with a stack trace: compared are those of %s", strings.Join(types, ", "))
}
