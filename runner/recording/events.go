package recording

import (
	"math"
	"strconv"
	"time"
)

// role is what the value of a field of an event means here.
type role uint8

const (
	noRole role = iota
	startRole
	durationRole
	periodRole
	threadRole
	stackRole
	stateRole
	biasedRole
	failedRole
	samplesRole
	bytesRole
	typeRole
	nameRole
	valueRole
	methodRole
	kindRole
	lineRole
	indexRole
	classRole
	descriptorRole
	modifiersRole
	hiddenRole
	startedRole
	jvmNameRole
	roleCount
)

// values are those of an event's fields by their role: numbers and ids, of strings the position.
type values [roleCount]uint64

const (
	settingType = "jdk.ActiveSetting"
	jvmType     = "jdk.JVMInformation"
	lossType    = "jdk.DataLoss"
	lostType    = "jdk.CPUTimeSamplesLost"
)

// roleNames are the roles of the fields of each type; those of types are besides.
var (
	roleNames = map[string]role{
		"startTime": startRole, "duration": durationRole, "samplingPeriod": periodRole, "stackTrace": stackRole, "state": stateRole,
		"biased": biasedRole, "failed": failedRole, "eventThread": threadRole,
	}
	typeRoleNames = map[string]map[string]role{
		settingType: {"id": typeRole, "name": nameRole, "value": valueRole},
		jvmType:     {"jvmVersion": valueRole, "jvmStartTime": startedRole, "jvmName": jvmNameRole},
		lossType:    {"amount": bytesRole},
		lostType:    {"lostSamples": samplesRole},
		methodName: {
			"type": classRole, "name": nameRole, "descriptor": descriptorRole, "modifiers": modifiersRole, "hidden": hiddenRole,
		},
		frameName: {"method": methodRole, "type": kindRole, "lineNumber": lineRole, "bytecodeIndex": indexRole},
	}
)

// unit is what a number counts, and from when.
type unit uint8

const (
	noUnit unit = iota
	ticks
	nanoseconds
	milliseconds
	seconds
	nanosecondsSinceEpoch
	millisecondsSinceEpoch
	secondsSinceEpoch
)

// units are the values of jdk.jfr.Timespan and jdk.jfr.Timestamp.
var units = map[string]unit{
	"TICKS": ticks, "NANOSECONDS": nanoseconds, "MILLISECONDS": milliseconds, "SECONDS": seconds,
	"NANOSECONDS_SINCE_EPOCH": nanosecondsSinceEpoch, "MILLISECONDS_SINCE_EPOCH": millisecondsSinceEpoch,
	"SECONDS_SINCE_EPOCH": secondsSinceEpoch,
}

// assignRoles finds the fields of a type that have a role, and the form for it.
func (t *typ) assignRoles() {
	for i := range t.fields {
		f := &t.fields[i]
		r, has := typeRoleNames[t.name][f.name]
		if !has {
			r = roleNames[f.name]
		}
		if f.name == "sampledThread" { // samplers have a thread of their own
			r = threadRole
		}
		if r == noRole || f.of == nil || f.array || !f.fits(r) || f.name == "eventThread" && t.roles[threadRole] != nil {
			continue
		}
		if before := t.roles[r]; before != nil {
			before.role = noRole
		}
		f.role, t.roles[r] = r, f
	}
}

// fits reports whether a field is written as its role needs it.
func (f *field) fits(r role) bool {
	switch r {
	case threadRole:
		return f.pooled && f.of.name == threadName
	case stackRole:
		return f.pooled && f.of.name == stackName
	case methodRole, kindRole, classRole:
		return f.pooled
	case stateRole, nameRole, valueRole, descriptorRole, jvmNameRole:
		return f.pooled || f.of.form == stringForm
	case biasedRole, failedRole, hiddenRole:
		return !f.pooled && f.of.form == booleanForm
	default:
		return !f.pooled && f.of.form == integerForm
	}
}

// event reads an event and gives what it is.
func (p *parser) event(w *eventWalk) *broken {
	t := p.types[w.kind]
	if t == nil {
		return brokenAt(w.position, "the metadata has no type %d", w.kind)
	}
	c := cursor{data: p.data[:w.next], at: w.contents, plain: w.plain}
	for i := range t.fields {
		f := &t.fields[i]
		switch {
		case f.role == noRole:
			p.field(t, t, f, &c, 0)
		case f.pooled:
			position := c.at
			id := c.long()
			p.refer(t, f, f.of, id, position)
			p.values[f.role] = id
		case f.of.form == stringForm:
			p.values[f.role] = uint64(c.at)
			p.primitive(t, f, f.of, &c)
		case f.of.form == booleanForm:
			p.values[f.role] = uint64(c.octet())
		default:
			p.values[f.role] = c.integer(f.width)
		}
	}
	if c.err == nil && c.at != w.next {
		return brokenAt(w.position, "%s has %d bytes after its fields", t.name, w.next-c.at)
	}
	p.bound(&c)
	if c.err != nil {
		return c.err
	}
	p.ended(t)
	t.events++
	return p.record(t)
}

// record gives the record that an event is, if it is one.
func (p *parser) record(t *typ) *broken {
	switch {
	case t.name == settingType:
		s := &Setting{Name: p.text(t, nameRole), Value: p.text(t, valueRole)}
		if of := p.types[p.values[typeRole]]; t.roles[typeRole] != nil && of != nil {
			s.Type = of.name
		}
		p.give(s)
	case t.name == jvmType:
		p.give(&Setting{Type: jvmType, Name: "jvmVersion", Value: p.text(t, valueRole)})
		if t.roles[startedRole] != nil {
			p.give(&Setting{Type: jvmType, Name: JVMStart, Value: strconv.FormatInt(int64(p.values[startedRole]), 10)})
		}
		if t.roles[jvmNameRole] != nil {
			p.give(&Setting{Type: jvmType, Name: JVMName, Value: p.text(t, jvmNameRole)})
		}
	case t.name == lossType && t.roles[bytesRole] != nil:
		p.summary.LostBytes += int64(p.values[bytesRole])
	case t.name == lostType:
		lost := &Lost{StartNanos: p.start(t), Thread: p.threadOf(t)}
		if t.roles[samplesRole] != nil {
			lost.Samples = int64(p.values[samplesRole])
		}
		p.summary.LostSamples += lost.Samples
		p.give(lost)
	case t.roles[stackRole] != nil:
		return p.sample(t)
	}
	return nil
}

// slabEvents are allocated at once.
const slabEvents = 256

func (p *parser) sample(t *typ) *broken {
	stack, err := p.stack(t.roles[stackRole].of, p.values[stackRole])
	if err != nil {
		return err
	}
	if len(p.slab) == 0 {
		p.slab = make([]Event, slabEvents)
	}
	e := &p.slab[0]
	p.slab = p.slab[1:]
	*e = Event{
		Type: t.name, StartNanos: p.start(t), DurationNanos: p.span(t, durationRole), PeriodNanos: p.span(t, periodRole),
		Thread: p.threadOf(t), Stack: stack, State: p.text(t, stateRole),
		Biased: p.truth(t, biasedRole), Failed: p.truth(t, failedRole),
	}
	p.summary.Events++
	p.give(e)
	return nil
}

func (p *parser) truth(t *typ, r role) Truth {
	switch {
	case t.roles[r] == nil:
		return Unspecified
	case p.values[r] != 0:
		return True
	}
	return False
}

// start is the time at which an event began, in nanoseconds since the epoch.
func (p *parser) start(t *typ) int64 {
	f, value := t.roles[startRole], int64(p.values[startRole])
	if f == nil {
		return 0
	}
	switch f.unit {
	case ticks:
		perNano := float64(p.header.ticksPerSecond) / float64(time.Second)
		return p.header.startNanos + truncated(float64(value-p.header.startTicks)/perNano)
	case nanosecondsSinceEpoch:
		return value
	case millisecondsSinceEpoch:
		return value * int64(time.Millisecond)
	case secondsSinceEpoch:
		return value * int64(time.Second)
	default:
		return 0
	}
}

// span is a length of time in nanoseconds, not negative.
func (p *parser) span(t *typ, r role) int64 {
	f, value := t.roles[r], int64(p.values[r])
	if f == nil {
		return 0
	}
	switch f.unit {
	case ticks:
		value = truncated(math.Floor(float64(value)*(float64(time.Second)/float64(p.header.ticksPerSecond)) + 0.5))
	case nanoseconds:
	case milliseconds:
		value *= int64(time.Millisecond)
	case seconds:
		value *= int64(time.Second)
	default:
		value = 0
	}
	return max(value, 0)
}

// truncated is a number without its fraction; what is no integer of 64 bits is the nearest one.
func truncated(value float64) int64 {
	switch {
	case value >= math.MaxInt64:
		return math.MaxInt64
	case value <= math.MinInt64:
		return math.MinInt64
	case math.IsNaN(value):
		return 0
	}
	return int64(value)
}

// ended notes when an event ended.
func (p *parser) ended(t *typ) {
	if t.roles[startRole] == nil {
		return
	}
	since := int64(p.values[startRole]) - p.header.startTicks
	if t.roles[durationRole] != nil {
		since += int64(p.values[durationRole])
	}
	if p.header.ticksPerSecond != int64(time.Second) {
		since = truncated(float64(since) * (float64(time.Second) / float64(p.header.ticksPerSecond)))
	}
	w := t.window
	if w == nil {
		t.window = &Window{Type: t.name, Events: 1, FirstNanos: since, LastNanos: since}
		return
	}
	w.Events++
	w.FirstNanos, w.LastNanos = min(w.FirstNanos, since), max(w.LastNanos, since)
}
