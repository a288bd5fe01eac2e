import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.AtomicStampedReference;

/** A lock-free stack whose nodes are reused: the head is the same again, what lies below it is not. */
final class ReusedNode {
  private ReusedNode() {}

  /** A node of the stack. */
  private static final class Node {
    volatile Node next;
    volatile boolean taken;
  }

  public static void main(String[] args) throws Exception {
    Race.periodic(
        args,
        () -> {
          Node bottom = new Node();
          Node top = new Node();
          top.next = bottom;
          AtomicStampedReference<Node> head = new AtomicStampedReference<>(top, 0);
          AtomicReference<String> bug = new AtomicReference<>();
          Race.together(
              () -> {
                Race.pause(3);
                int stamp = head.getStamp();
                Node first = head.getReference();
                Node second = first.next;
                Race.gap(2); // the other comes 10 ms later
                int at = Race.fixed ? stamp : head.getStamp();
                if (head.compareAndSet(first, second, at, at + 1)
                    && second != null
                    && second.taken) {
                  bug.set("the head is a node that was taken");
                }
              },
              () -> {
                Race.pause(15);
                Node first = pop(head);
                Node second = first == null ? null : pop(head);
                if (second != null) { // the first one comes back, the second one does not
                  second.taken = true;
                  first.next = null;
                  head.set(first, head.getStamp() + 1);
                }
              });
          return bug.get();
        });
  }

  private static Node pop(AtomicStampedReference<Node> head) {
    for (; ; ) {
      int stamp = head.getStamp();
      Node first = head.getReference();
      if (first == null || head.compareAndSet(first, first.next, stamp, stamp + 1)) {
        return first;
      }
    }
  }
}
