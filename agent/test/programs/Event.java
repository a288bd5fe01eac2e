/**
 * The class of an event has an initialiser, to which the JVM adds a call of its own when the class is loaded, behind
 * all transformers (HotSpot: jfrEventClassTransformer.cpp).
 */
public final class Event {
  static final class Happened extends jdk.jfr.Event {
    static final int VALUE = mark(7);

    int value;
  }

  static int mark(int n) {
    return n;
  }

  public static void main(String[] args) {
    Happened happened = new Happened();
    happened.value = Happened.VALUE;
    happened.commit();
    if (happened.value != 7) {
      throw new IllegalStateException("a wrong value");
    }
    System.out.println("event: verified " + happened.value);
  }
}
