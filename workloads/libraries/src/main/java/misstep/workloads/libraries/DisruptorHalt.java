package misstep.workloads.libraries;

import com.lmax.disruptor.BatchEventProcessor;
import com.lmax.disruptor.RingBuffer;

/**
 * Disruptor 3.4.0, fixed in 3.4.1 ("race between run() and halt() on BatchEventProcessor"): halt
 * between the beginning of run and its clearAlert is forgotten, and the processor waits for ever.
 */
final class DisruptorHalt implements Bug {
  @Override
  public String round() throws Exception {
    RingBuffer<Object[]> ring = RingBuffer.createSingleProducer(() -> new Object[1], 4);
    BatchEventProcessor<Object[]> processor =
        new BatchEventProcessor<>(ring, ring.newBarrier(), (event, sequence, last) -> {});
    return Pair.run(
        processor::run,
        () -> {
          while (!processor.isRunning()) {
            Thread.yield();
          }
          processor.halt();
        });
  }
}
