package misstep.workloads.pekko;

import java.util.concurrent.CompletableFuture;
import org.apache.pekko.actor.AbstractActor;
import org.apache.pekko.actor.Props;

/** Sums a range: a short one itself, a longer one by two children. */
final class Summer extends AbstractActor {
  private static final long SHORT = 256;

  /** The integers from low to high, inclusive. */
  record Range(long low, long high) {}

  /** A child's answer. */
  record Sum(long value) {}

  private final CompletableFuture<Long> result; // of the topmost one, else null
  private long sum;
  private int missing;

  private Summer(CompletableFuture<Long> result) {
    this.result = result;
  }

  static Props props(CompletableFuture<Long> result) {
    return Props.create(Summer.class, () -> new Summer(result));
  }

  @Override
  public Receive createReceive() {
    return receiveBuilder().match(Range.class, this::split).match(Sum.class, this::add).build();
  }

  private void split(Range range) {
    if (range.high - range.low < SHORT) {
      for (long i = range.low; i <= range.high; i++) {
        sum += i;
      }
      answer();
      return;
    }
    long middle = (range.low + range.high) >>> 1;
    missing = 2;
    getContext().actorOf(props(null)).tell(new Range(range.low, middle), getSelf());
    getContext().actorOf(props(null)).tell(new Range(middle + 1, range.high), getSelf());
  }

  private void add(Sum part) {
    sum += part.value;
    getContext().stop(getSender());
    if (--missing == 0) {
      answer();
    }
  }

  private void answer() {
    if (result == null) {
      getContext().getParent().tell(new Sum(sum), getSelf());
    } else {
      result.complete(sum);
    }
  }
}
