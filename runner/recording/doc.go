// Package recording reads JFR recordings: a helper JVM with bounded memory parses them with JDK Mission Control's parser and
// writes a compact stream, whose records this package turns into values. JFR's own recordings are read and those that other
// profilers write in its format.
package recording
