package jvm

import (
	"time"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// hardOutput times the bound on kept output is what a program may print before it is killed.
const hardOutput = 8

// maxProcesses bounds the processes of a trial. The kernel bounds them and their threads in all, see process.MaxTasks.
const maxProcesses = 256

// limits of a trial, sizes in bytes; defaults are filled in.
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
