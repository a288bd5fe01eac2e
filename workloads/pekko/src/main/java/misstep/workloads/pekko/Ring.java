package misstep.workloads.pekko;

import java.util.concurrent.CompletableFuture;
import org.apache.pekko.actor.AbstractActor;
import org.apache.pekko.actor.ActorRef;
import org.apache.pekko.actor.Props;

/** Creates a ring of actors and counts their visits once the tokens have made their hops. */
final class Ring extends AbstractActor {
  private static final int TOKENS = 8;

  /** Passed to the next actor until it has no hops left. */
  record Token(int hops) {}

  /** Tells an actor its successor. */
  record Next(ActorRef actor) {}

  /** Asks an actor how often it was visited. */
  record Count() {}

  /** The answer to Count. */
  record Visits(long number) {}

  private final int size;
  private final int hops;
  private final CompletableFuture<Long> result;
  private ActorRef[] members;
  private int tokens;
  private int answers;
  private long visits;

  private Ring(int size, int hops, CompletableFuture<Long> result) {
    this.size = size;
    this.hops = hops;
    this.result = result;
  }

  static Props props(int size, int hops, CompletableFuture<Long> result) {
    return Props.create(Ring.class, () -> new Ring(size, hops, result));
  }

  @Override
  public void preStart() {
    members = new ActorRef[size];
    for (int i = 0; i < size; i++) {
      members[i] = getContext().actorOf(Props.create(Member.class, Member::new));
    }
    for (int i = 0; i < size; i++) {
      members[i].tell(new Next(members[(i + 1) % size]), getSelf());
    }
    for (int i = 0; i < TOKENS; i++) {
      int share = hops / TOKENS + (i < hops % TOKENS ? 1 : 0);
      members[i * size / TOKENS].tell(new Token(share), getSelf());
    }
  }

  @Override
  public Receive createReceive() {
    return receiveBuilder()
        .match(Token.class, this::arrived)
        .match(Visits.class, this::add)
        .build();
  }

  private void arrived(Token token) {
    if (++tokens == TOKENS) {
      for (ActorRef member : members) {
        member.tell(new Count(), getSelf());
      }
    }
  }

  private void add(Visits part) {
    visits += part.number;
    if (++answers == size) {
      result.complete(visits);
    }
  }

  private static final class Member extends AbstractActor {
    private ActorRef next;
    private long visits;

    @Override
    public Receive createReceive() {
      return receiveBuilder()
          .match(Next.class, message -> next = message.actor)
          .match(Token.class, this::pass)
          .match(Count.class, message -> getSender().tell(new Visits(visits), getSelf()))
          .build();
    }

    private void pass(Token token) {
      if (token.hops == 0) {
        getContext().getParent().tell(token, getSelf());
        return;
      }
      visits++;
      next.tell(new Token(token.hops - 1), getSelf());
    }
  }
}
