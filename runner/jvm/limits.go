package jvm

import (
	"time"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// hardOutput is how many times the bound on kept output a program may print before it is stopped for it.
const hardOutput = 8

// limits of a trial in bytes, and complete.
type limits struct {
	wall                 time.Duration
	memory, output, disk uint64
}

func limitsOf(l *misstepv1.Limits) limits {
	l = recipe.EffectiveLimits(l)
	const mib = 1 << 20
	return limits{
		wall: l.GetWall().AsDuration(), memory: uint64(l.GetMemoryMib()) * mib,
		output: uint64(l.GetOutputMib()) * mib, disk: uint64(l.GetDiskMib()) * mib,
	}
}
