// Package check runs somebody's Java program as it is, with the agent and a profiler in its JVM, and reports what the checks found.
//
// The program keeps its streams, its environment, its working folder and its place among the terminal's processes; only arguments
// are inserted. What it returns is passed on.
package check
