package misstep.recording;

/** Who or what is to blame for a problem; the order is that of {@code ProblemKind} in types.go. */
enum ProblemKind {
  /** The file ends in the chunk. */
  CUT,
  /** The recorder had not finished the chunk. */
  UNFINISHED,
  /** A limit of this program was reached. */
  LIMIT,
  /** The bytes are not what the format demands. */
  LAYOUT,
  /** JMC failed. */
  PARSER
}
