package misstep.workloads.libraries;

import java.io.StringWriter;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;
import org.apache.log4j.PatternLayout;
import org.apache.log4j.WriterAppender;

/**
 * Log4j 1.2 (Bugzilla 24159), fixed by Log4j 2: messages are rendered under the locks of logger and
 * appender. A message whose toString takes a lock deadlocks with a thread that logs under it.
 */
final class Log4jRender implements Bug {
  private final Logger logger = Logger.getLogger("misstep.libraries");

  Log4jRender() {
    logger.setLevel(Level.INFO);
    logger.setAdditivity(false);
    logger.addAppender(new WriterAppender(new PatternLayout("%m%n"), new StringWriter()));
  }

  @Override
  public String round() throws Exception {
    Account account = new Account();
    return Pair.run(() -> logger.info(account), account::deposit);
  }

  private final class Account {
    private int balance;

    synchronized void deposit() {
      balance++;
      logger.info("one more");
    }

    @Override
    public synchronized String toString() {
      return "balance " + balance;
    }
  }
}
