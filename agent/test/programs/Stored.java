/**
 * Links old objects to others far away, on top of some frames. Each store dirties a card, and if
 * G1's queue of cards is full, the barrier after the store calls the VM.
 */
public final class Stored {
  static final class Node {
    Node next;
  }

  static int link(Node[] nodes, int seed) {
    int x = seed;
    for (int i = 0; i < 10_000; i++) {
      x = x * 1_103_515_245 + 12_345;
      Node from = nodes[(x >>> 8) % nodes.length];
      from.next = nodes[(x >>> 7) % nodes.length];
    }
    return x;
  }

  static int outer(Node[] nodes, int seed) {
    return link(nodes, seed) + 1;
  }

  public static void main(String[] args) {
    Node[] nodes = new Node[2_000_000];
    for (int i = 0; i < nodes.length; i++) {
      nodes[i] = new Node();
    }
    System.gc(); // they are old now
    int x = 1;
    Span span = new Span(args, 0, 2);
    while (!span.over()) {
      x = outer(nodes, x);
    }
    System.out.println("stored: verified " + x);
  }
}
