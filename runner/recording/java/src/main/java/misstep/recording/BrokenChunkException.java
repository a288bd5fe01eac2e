package misstep.recording;

/** What was read is no chunk; its position is relative to the chunk. */
final class BrokenChunkException extends RuntimeException {
  private static final long serialVersionUID = 1L;
  private final int position;

  BrokenChunkException(String message, int position) {
    super(message);
    this.position = position;
  }

  int position() {
    return position;
  }
}
