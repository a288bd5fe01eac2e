// Package recording reads JFR recordings, JFR's own and those that other profilers write in its format, as records.
//
// There are two readers. Parse is for recordings that somebody hands to a command: it is fast, and reads in this process. A Helper
// is for those that trials leave: a JVM with bounded memory, which is confined as the trial was, parses them with JDK Mission
// Control's parser and writes a compact stream, whose records this package turns into the same values. Of a whole recording both
// say the same, which a test checks.
package recording
