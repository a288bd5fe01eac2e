import com.sun.jdi.Bootstrap;
import com.sun.jdi.Location;
import com.sun.jdi.ReferenceType;
import com.sun.jdi.ThreadReference;
import com.sun.jdi.VirtualMachine;
import com.sun.jdi.connect.AttachingConnector;
import com.sun.jdi.connect.Connector;
import com.sun.jdi.event.BreakpointEvent;
import com.sun.jdi.event.Event;
import com.sun.jdi.event.EventSet;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * A debugger removes frames that have not returned: by PopFrame, so that their caller calls them
 * again, and by ForceEarlyReturn. The argument is the port at which this JVM waits for a debugger,
 * a second process of the same program.
 */
public final class Popped {
  static int victims;
  static int stops;

  static int outer() {
    return victim() + leaf(1);
  }

  static int victim() {
    victims++;
    stop();
    return leaf(2);
  }

  /** The debugger pops this frame and its caller's here. */
  static void stop() {
    stops++;
  }

  static int early() {
    stopEarly();
    return leaf(3);
  }

  /** The debugger has this return at its last line. */
  static void stopEarly() {
    stops++;
    stops += 100;
  }

  static int leaf(int x) {
    return x + 1;
  }

  public static void main(String[] args) throws Exception {
    if (args.length > 1) {
      debug(args[0]);
      return;
    }
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    Process debugger =
        new ProcessBuilder(
                java, "-cp", System.getProperty("java.class.path"), "Popped", args[0], "debug")
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    try (BufferedReader out =
        new BufferedReader(new InputStreamReader(debugger.getInputStream()))) {
      if (!"armed".equals(out.readLine())) {
        System.exit(4);
      }
    }
    int sum = outer() + early();
    for (int i = 0; i < 1000; i++) {
      sum += leaf(i);
    }
    if (sum != 3 + 2 + 4 + 500_500 || victims != 2 || stops != 2 || debugger.waitFor() != 0) {
      System.exit(3);
    }
    System.out.println("popped: verified");
  }

  static void debug(String port) throws Exception {
    AttachingConnector socket =
        Bootstrap.virtualMachineManager().attachingConnectors().stream()
            .filter(c -> c.name().equals("com.sun.jdi.SocketAttach"))
            .findFirst()
            .orElseThrow();
    Map<String, Connector.Argument> arguments = socket.defaultArguments();
    arguments.get("hostname").setValue("127.0.0.1");
    arguments.get("port").setValue(port);
    VirtualMachine vm = socket.attach(arguments);
    ReferenceType program = vm.classesByName("Popped").get(0);
    for (String name : List.of("stop", "stopEarly")) {
      List<Location> lines = program.methodsByName(name).get(0).allLineLocations();
      vm.eventRequestManager()
          .createBreakpointRequest(lines.get(name.equals("stop") ? 0 : 1))
          .enable();
    }
    System.out.println("armed");
    for (int hits = 0; hits < 2; ) {
      EventSet events = vm.eventQueue().remove();
      for (Event event : events) {
        if (event instanceof BreakpointEvent) {
          hits++;
          event.request().disable();
          ThreadReference thread = ((BreakpointEvent) event).thread();
          if (((BreakpointEvent) event).location().method().name().equals("stop")) {
            thread.popFrames(thread.frame(1));
          } else {
            thread.forceEarlyReturn(vm.mirrorOfVoid());
          }
        }
      }
      events.resume();
    }
    vm.dispose();
  }
}
