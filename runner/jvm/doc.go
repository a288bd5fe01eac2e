// Package jvm runs one recipe on a real JVM and classifies what the JVM did.
//
// A trial has a folder of its own, a scrubbed environment, limits on time, memory, output and disk, and a watchdog that examines a
// hung JVM from outside before it kills it. A trial leaves nothing behind. Workloads run with the runner's own permissions: run the
// runner as an ordinary user; it does not require root.
package jvm
