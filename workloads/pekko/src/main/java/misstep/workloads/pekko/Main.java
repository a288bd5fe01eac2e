package misstep.workloads.pekko;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import misstep.workloads.Harness;
import misstep.workloads.ValidationException;
import org.apache.pekko.actor.ActorRef;
import org.apache.pekko.actor.ActorSystem;
import scala.concurrent.Await;
import scala.concurrent.duration.Duration;

/** Actors that split a sum among their children while a ring of actors passes messages round. */
public final class Main {
  private static final int RING = 100;
  private static final Config QUIET =
      ConfigFactory.parseString("pekko.loglevel = WARNING\npekko.stdout-loglevel = WARNING")
          .withFallback(ConfigFactory.load());

  private Main() {}

  /**
   * Runs the workload.
   *
   * @param args depth of the tree of actors, hops of the ring's messages
   */
  public static void main(String[] args) {
    int depth = Harness.argument(args, 0, 14);
    int hops = Harness.argument(args, 1, 200_000);
    Harness.run(
        (index, scratch) -> {
          ActorSystem system = ActorSystem.create("misstep", QUIET);
          try {
            var sum = new CompletableFuture<Long>();
            var visits = new CompletableFuture<Long>();
            system.actorOf(Ring.props(RING, hops, visits), "ring");
            long high = 64L << depth;
            ActorRef tree = system.actorOf(Summer.props(sum), "tree");
            tree.tell(new Summer.Range(1, high), ActorRef.noSender());
            ValidationException.equal(
                "sum of the tree", high * (high + 1) / 2, sum.get(5, TimeUnit.MINUTES));
            // Token k has been at one actor for each of its hops.
            ValidationException.equal("visits of the ring", hops, visits.get(5, TimeUnit.MINUTES));
          } finally {
            Await.result(system.terminate(), Duration.create(1, TimeUnit.MINUTES));
          }
        });
  }
}
