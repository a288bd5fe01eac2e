package recipe

import (
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	misstepv1 "misstep/proto/misstep/v1"
)

// Limits of a trial whose recipe gives none.
const (
	// DefaultWall is the time until a JVM counts as hung.
	DefaultWall = 2 * time.Minute
	// DefaultMemoryMiB is the resident memory of the trial's processes.
	DefaultMemoryMiB = 4096
	// DefaultOutputMiB bounds what is kept of stdout and stderr each.
	DefaultOutputMiB = 16
	// DefaultDiskMiB bounds the trial's folder.
	DefaultDiskMiB = 512
	// DefaultStackDepth bounds the frames of a walk.
	DefaultStackDepth = 1024
	// DefaultMismatches bounds the mismatch records that the agent writes.
	DefaultMismatches = 1024
)

// limit is one of a trial's limits that are integers.
type limit struct {
	name string
	// standard is the limit where a recipe gives none; min and max are its bounds.
	standard, min, max uint32
	field              func(*misstepv1.Limits) *uint32
	// unwritten says that expansion leaves the default out of recipes: their canonical text, and with it their digest, is from
	// before the limit.
	unwritten bool
}

var integerLimits = []limit{
	{"memory_mib", DefaultMemoryMiB, 64, 1 << 22, func(l *misstepv1.Limits) *uint32 { return &l.MemoryMib }, false},
	{"output_mib", DefaultOutputMiB, 1, 1 << 16, func(l *misstepv1.Limits) *uint32 { return &l.OutputMib }, false},
	{"disk_mib", DefaultDiskMiB, 1, 1 << 22, func(l *misstepv1.Limits) *uint32 { return &l.DiskMib }, false},
	{"stack_depth", DefaultStackDepth, 64, 1 << 14, func(l *misstepv1.Limits) *uint32 { return &l.StackDepth }, false},
	{"mismatches", DefaultMismatches, 1, 1 << 14, func(l *misstepv1.Limits) *uint32 { return &l.Mismatches }, true},
}

// WrittenLimits are limits with the defaults that an expanded recipe spells out: all but mismatches. The result shares nothing with
// l.
func WrittenLimits(l *misstepv1.Limits) *misstepv1.Limits {
	return filled(l, func(x limit) bool { return !x.unwritten })
}

// EffectiveLimits are limits with every default. The result shares nothing with l.
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

// Wall is the time after which a run of the recipe counts as hung.
func Wall(r *misstepv1.Recipe) time.Duration {
	return EffectiveLimits(r.GetLimits()).GetWall().AsDuration()
}
