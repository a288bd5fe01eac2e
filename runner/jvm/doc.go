// Package jvm runs one recipe on a real JVM and says what the JVM did.
//
// A trial has a folder of its own, a scrubbed environment, limits on time, memory, output and disk, and a watchdog that looks at a
// hung JVM from outside before it ends it. Nothing of it is left afterwards. Workloads run with the runner's own rights: give the
// runner an ordinary user, it needs no root.
package jvm
