package misstep.recording;

/**
 * Bounds of what is read and written.
 *
 * @param chunkBytes the largest chunk that is read
 * @param frames of a stack trace that are written; the trace says when there were more
 * @param outputBytes after which only the summary is written
 */
record Limits(int chunkBytes, int frames, long outputBytes) {}
