package recipe

import (
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	misstepv1 "misstep/proto/misstep/v1"
)

// Default limits of a trial.
const (
	// DefaultWall is the wall time after which a JVM counts as hung.
	DefaultWall = 2 * time.Minute
	// DefaultMemoryMiB bounds the resident memory of the trial's processes.
	DefaultMemoryMiB = 4096
	// DefaultOutputMiB bounds what is kept of stdout and stderr each.
	DefaultOutputMiB = 16
	// DefaultDiskMiB bounds the trial's folder.
	DefaultDiskMiB = 512
	// DefaultStackDepth bounds the number of frames of a walk.
	DefaultStackDepth = 1024
	// DefaultMismatches bounds the mismatch records that the agent writes.
	DefaultMismatches = 1024
)

// limit is a limit of a trial that is an integer.
type limit struct {
	name string
	// standard is the default; min and max are the bounds of what a recipe may give.
	standard, min, max uint32
	field              func(*misstepv1.Limits) *uint32
	// unwritten reports that expansion does not write the default into recipes, because the limit is younger than recipes: their
	// canonical text, and with it their digest, must not change.
	unwritten bool
}

var integerLimits = []limit{
	{"memory_mib", DefaultMemoryMiB, 64, 1 << 22, func(l *misstepv1.Limits) *uint32 { return &l.MemoryMib }, false},
	{"output_mib", DefaultOutputMiB, 1, 1 << 16, func(l *misstepv1.Limits) *uint32 { return &l.OutputMib }, false},
	{"disk_mib", DefaultDiskMiB, 1, 1 << 22, func(l *misstepv1.Limits) *uint32 { return &l.DiskMib }, false},
	{"stack_depth", DefaultStackDepth, 64, 1 << 14, func(l *misstepv1.Limits) *uint32 { return &l.StackDepth }, false},
	{"mismatches", DefaultMismatches, 1, 1 << 14, func(l *misstepv1.Limits) *uint32 { return &l.Mismatches }, true},
}

// WrittenLimits returns limits with the defaults that an expanded recipe spells out: all but that of mismatches. The result shares
// nothing with l.
func WrittenLimits(l *misstepv1.Limits) *misstepv1.Limits {
	return filled(l, func(x limit) bool { return !x.unwritten })
}

// EffectiveLimits returns limits with every default. The result shares nothing with l.
func EffectiveLimits(l *misstepv1.Limits) *misstepv1.Limits {
	return filled(l, func(limit) bool { return true })
}

func filled(l *misstepv1.Limits, fills func(limit) bool) *misstepv1.Limits {
	out := &misstepv1.Limits{}
	if l != nil {
		out = proto.CloneOf(l)
	}
	if out.GetWall().AsDuration() <= 0 {
		out.Wall = durationpb.New(DefaultWall)
	}
	for _, x := range integerLimits {
		if field := x.field(out); *field == 0 && fills(x) {
			*field = x.standard
		}
	}
	return out
}

// Wall returns the wall time after which a run of the recipe counts as hung.
func Wall(r *misstepv1.Recipe) time.Duration {
	return EffectiveLimits(r.GetLimits()).GetWall().AsDuration()
}
