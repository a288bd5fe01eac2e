package misstep.agent.instrument;

import java.util.ArrayList;
import java.util.List;

/** Gives out ids, chooses every method, and keeps the complaints. */
final class Recorder
    implements Instrumenter.Choice, Instrumenter.Ids, Instrumenter.Problems, AnnotationRule {
  final List<String> complaints = new ArrayList<>();
  int firstId; // of the last reservation
  private int next = 1;

  static Recorder from(int firstId) {
    Recorder recorder = new Recorder();
    recorder.next = firstId;
    return recorder;
  }

  Instrumented instrument(String runtime, byte[] file) {
    return new Instrumenter(runtime).instrument(file, this, this, this, this);
  }

  @Override
  public boolean chooses(String className, String name, String descriptor) {
    return true;
  }

  @Override
  public int reserve(int n) {
    firstId = next;
    next += n;
    return firstId;
  }

  @Override
  public void skipped(String className, String method, String why) {
    complaints.add(className + "." + method + ": " + why);
  }

  @Override
  public boolean forbids(String descriptor) {
    return false;
  }
}
