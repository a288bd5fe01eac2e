import misstep.workloads.Harness;
import misstep.workloads.ValidationException;

/** Ends in the way of the plain protocol that its argument selects. */
public final class Protocol {
  private Protocol() {}

  public static void main(String[] args) {
    if (args[0].equals("silent")) {
      return;
    }
    Harness.run(
        (index, scratch) -> {
          java.nio.file.Files.writeString(scratch.resolve("file"), "removed by the harness");
          switch (args[0]) {
            case "invalid":
              ValidationException.equal("sum", 1, 1 + index);
              break;
            case "throw":
              throw new IllegalStateException("thrown on purpose");
            case "heap":
              System.out.println(
                  new long[Integer.MAX_VALUE - 8].length + new long[Integer.MAX_VALUE - 8].length);
              break;
            case "thread":
              new Thread(
                      () -> {
                        while (true) {
                          Thread.onSpinWait();
                        }
                      })
                  .start();
              break;
            default:
          }
        });
  }
}
