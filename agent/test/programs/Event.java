import jdk.jfr.Recording;

/**
 * The class of an event has an initialiser, to which the JVM adds a call of its own when the class is loaded, behind
 * all transformers (HotSpot: jfrEventClassTransformer.cpp). When a recording begins it changes once more, and what is
 * shown to transformers then is the code that runs.
 */
public final class Event {
  static final class Happened extends jdk.jfr.Event {
    static final int VALUE = mark(7);

    int value;

    Happened() {
      value = mark(VALUE);
    }
  }

  static int mark(int n) {
    return n;
  }

  static void happen() {
    Happened happened = new Happened();
    happened.commit();
    if (happened.value != 7) {
      throw new IllegalStateException("a wrong value");
    }
  }

  public static void main(String[] args) throws Exception {
    happen();
    for (int i = 0; i < 3; i++) {
      try (Recording recording = new Recording()) {
        recording.enable(Happened.class);
        recording.start();
        for (int j = 0; j < 200; j++) {
          happen();
        }
      }
    }
    System.out.println("event: verified");
  }
}
