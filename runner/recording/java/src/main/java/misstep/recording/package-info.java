/**
 * Reads a JFR recording chunk by chunk with JDK Mission Control's parser and writes what a judge
 * of stack traces needs as a compact stream, which {@code runner/recording} reads.
 */
package misstep.recording;
