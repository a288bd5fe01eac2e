import java.util.concurrent.CountDownLatch;

/** What {@link Early} has its thread do. */
final class EarlyJob implements Runnable {
  private final Runnable job;
  private final CountDownLatch done;

  EarlyJob(Runnable job, CountDownLatch done) {
    this.job = job;
    this.done = done;
  }

  @Override
  public void run() {
    job.run();
    done.countDown();
  }

  static final class Work implements Runnable {
    @Override
    public void run() {
      Early.work("early-java");
    }
  }
}
