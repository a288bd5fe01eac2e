package misstep.workloads.epochs;

import java.io.File;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import javax.management.InstanceNotFoundException;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import javax.management.ReflectionException;

/**
 * Begins new chunks with the commands that jcmd sends: each start, dump and stop of a recording
 * does. On a JVM without JFR it does nothing.
 */
final class Rotation implements AutoCloseable {
  private static final String RECORDING = "epochs";

  private final MBeanServer server = ManagementFactory.getPlatformMBeanServer();
  private final ObjectName commands;
  private final File folder;
  private final boolean available;
  private int dumps;
  private int failures;

  /** Starts a recording whose dumps are written to a folder. */
  Rotation(Path folder) throws JMException {
    this.folder = folder.toFile();
    commands = new ObjectName("com.sun.management:type=DiagnosticCommand");
    boolean started = true;
    try {
      command("jfrStart", "name=" + RECORDING, "settings=profile");
    } catch (InstanceNotFoundException | ReflectionException e) {
      System.out.println("epochs: no recordings, this JVM has no JFR: " + e.getMessage());
      started = false;
    }
    available = started;
  }

  /** Dumps the recording; the file of the dump before is removed. */
  void dump() throws JMException {
    if (!available) {
      return;
    }
    File file = new File(folder, "dump-" + dumps++ + ".jfr");
    command("jfrDump", "name=" + RECORDING, "filename=" + file);
    if (file.length() == 0 || !file.delete()) {
      failures++;
    }
  }

  /** Returns how many dumps wrote nothing. */
  int failures() {
    return failures;
  }

  @Override
  public void close() throws JMException {
    if (available) {
      command("jfrStop", "name=" + RECORDING);
    }
  }

  private void command(String name, String... arguments) throws JMException {
    String[] signature = {String[].class.getName()};
    server.invoke(commands, name, new Object[] {arguments}, signature);
  }
}
