// Package jfrcheck checks recordings that somebody has: of any JVM, made by JFR or by a profiler that writes its format, without a
// trial and without the agent. It says what is wrong in them for certain, what looks doubtful, and what they lack: samples that are
// truncated, failed or lost, by sampler, thread and method. It compares two recordings of one program, too, or its profiles in
// other forms.
//
// Recordings are read one record at a time by the helper of package recording. What is kept grows with the methods, threads and
// call sites of a program, not with the size of a recording, and each table has a bound.
package jfrcheck
