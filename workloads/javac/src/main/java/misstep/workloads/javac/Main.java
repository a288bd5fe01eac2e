package misstep.workloads.javac;

import java.nio.file.Path;
import misstep.workloads.Harness;
import misstep.workloads.ValidationException;

/**
 * Compiles the sources of a real library in memory and compares the result with the library's
 * published jar.
 */
public final class Main {
  private Main() {}

  /**
   * Runs the workload.
   *
   * @param args how often one repetition compiles the library
   */
  public static void main(String[] args) {
    int times = Harness.argument(args, 0, 1);
    Path home = Harness.home(Main.class);
    Path sources = Harness.only(home.resolve("sources"), ".jar");
    Path reference = Harness.only(home.resolve("reference"), ".jar");
    Harness.run(
        (index, scratch) -> {
          Library published = Library.published(reference);
          String interfaces = published.interfaces();
          String answers = published.answers();
          if (published.size() < 200) {
            throw new ValidationException(
                "the published jar has only " + published.size() + " public types");
          }
          for (int i = 0; i < times; i++) {
            Library compiled = Compilation.of(sources);
            ValidationException.equal("public types", published.size(), compiled.size());
            ValidationException.equal(
                "digest of the interfaces", interfaces, compiled.interfaces());
            ValidationException.equal("digest of the answers", answers, compiled.answers());
          }
        });
  }
}
