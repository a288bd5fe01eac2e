package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// flock takes an exclusive lock on an open file without waiting.
func flock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
