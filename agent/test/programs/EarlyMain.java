/** Runs the program of a class with one argument. */
final class EarlyMain implements Runnable {
  private final String name;
  private final String argument;

  EarlyMain(String name, String argument) {
    this.name = name;
    this.argument = argument;
  }

  @Override
  public void run() {
    try {
      Class.forName(name)
          .getMethod("main", String[].class)
          .invoke(null, (Object) new String[] {argument});
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }
}
