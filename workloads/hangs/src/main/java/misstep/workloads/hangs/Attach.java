package misstep.workloads.hangs;

import com.sun.tools.attach.AttachNotSupportedException;
import com.sun.tools.attach.VirtualMachine;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Random;
import misstep.workloads.ValidationException;

/** Attaches to its own JVM, from two threads at once, and asks it something. */
final class Attach implements Part {
  private static final int THREADS = 2;

  @Override
  public void round(Random random, Path scratch) throws Exception {
    Threads threads = new Threads();
    for (int i = 0; i < THREADS; i++) {
      threads.start("attach-" + i, Attach::ask);
    }
    threads.join();
  }

  private static Void ask() throws IOException, AttachNotSupportedException, ValidationException {
    VirtualMachine machine = VirtualMachine.attach(Long.toString(ProcessHandle.current().pid()));
    try {
      String want = System.getProperty("java.version");
      String got = machine.getSystemProperties().getProperty("java.version");
      if (!want.equals(got)) {
        throw new ValidationException("java.version by attach: want " + want + ", got " + got);
      }
    } finally {
      machine.detach();
    }
    return null;
  }
}
