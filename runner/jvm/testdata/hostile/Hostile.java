import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A program that tries to leave its trial, again and again for some seconds. For each way it prints
 * whether it was refused, and by what. Arguments: seconds, folder of another trial, file of a key,
 * pid of a process, port and socket of servers, a folder that it may read, a port to listen at, how
 * long a process that it leaves behind sleeps.
 */
public class Hostile {
  /** A way to leave; it returns what it got, or throws. */
  interface Way {
    String go() throws Throwable;
  }

  static final StructLayout STATE = Linker.Option.captureStateLayout();
  static final VarHandle ERRNO =
      STATE.varHandle(java.lang.foreign.MemoryLayout.PathElement.groupElement("errno"));
  static final FileTime NOW = FileTime.fromMillis(0);
  static MethodHandle syscall;
  static MemorySegment state;

  static final Map<String, Way> WAYS = new LinkedHashMap<>();

  public static void main(String[] args) throws Throwable {
    Linker linker = Linker.nativeLinker();
    ValueLayout.OfLong number = ValueLayout.JAVA_LONG;
    syscall =
        linker.downcallHandle(
            linker.defaultLookup().find("syscall").orElseThrow(),
            FunctionDescriptor.of(number, number, number, number, number, number, number),
            Linker.Option.firstVariadicArg(1),
            Linker.Option.captureCallState("errno"));
    state = Arena.global().allocate(STATE);

    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(Long.parseLong(args[0]));
    Path other = Path.of(args[1]);
    Path key = Path.of(args[2]);
    long victim = Long.parseLong(args[3]);
    int port = Integer.parseInt(args[4]);
    String socket = args[5];
    Path readable = Path.of(args[6]);
    int listen = Integer.parseInt(args[7]);

    files(other, key, readable);
    processes(victim);
    network(port, socket);
    calls();

    // Who listens, listens to itself: the test sees that nobody else can connect.
    ServerSocket server = new ServerSocket(listen, 1, InetAddress.getByName("0.0.0.0"));
    Map<String, String> answers = new LinkedHashMap<>();
    do {
      WAYS.forEach((name, way) -> answers.merge(name, attempt(way), Hostile::worse));
    } while (System.nanoTime() < end);
    server.close();
    answers.forEach((name, answer) -> System.out.println(name + ": " + answer));
    String leave = "env -i setsid sleep " + args[8] + " & exit 0";
    new ProcessBuilder("setsid", "sh", "-c", leave).start().waitFor();
    System.out.println("misstep: hostile verified 1 repetitions");
  }

  static String attempt(Way way) {
    try {
      return "SUCCEEDED: " + way.go();
    } catch (Throwable refused) {
      return "refused: " + refused;
    }
  }

  static String worse(String before, String now) {
    return before.startsWith("SUCCEEDED") ? before : now;
  }

  static void files(Path other, Path key, Path readable) {
    WAYS.put("read another trial's folder", () -> list(other));
    WAYS.put("list all trials", () -> onlyOwn(other.getParent()));
    WAYS.put("read a key", () -> Files.readString(key));
    WAYS.put("read /root", () -> list(Path.of("/root")));
    WAYS.put("read /etc/shadow", () -> Files.readString(Path.of("/etc/shadow")));
    WAYS.put("write beside another trial", () -> write(other.resolveSibling("hostile")));
    WAYS.put("write into a workload", () -> write(readable.resolve("hostile")));
    WAYS.put("change a workload", () -> "" + Files.setLastModifiedTime(readable, NOW));
    Path jdk = Path.of(System.getProperty("java.home"));
    WAYS.put("write into the JDK", () -> write(jdk.resolve("hostile")));
    WAYS.put("write into /etc", () -> write(Path.of("/etc/hostile")));
    WAYS.put("write into /", () -> write(Path.of("/hostile")));
    WAYS.put("write into a control group", () -> write(Path.of("/sys/fs/cgroup/hostile")));
    WAYS.put("fill /tmp", Hostile::fill);
  }

  static void processes(long victim) {
    WAYS.put("see other processes", () -> others());
    WAYS.put("read another's environment", () -> list(Path.of("/proc/" + victim)));
    WAYS.put("end a process", () -> call("kill", 62, 129, victim, 9));
    WAYS.put("trace a process", () -> call("ptrace", 101, 117, 16, victim));
  }

  static void network(int port, String socket) {
    WAYS.put("connect to this host", () -> connect("127.0.0.1", port));
    WAYS.put("connect to the world", () -> connect("192.0.2.1", 80));
    WAYS.put(
        "connect to a socket of this host",
        () -> "" + SocketChannel.open(UnixDomainSocketAddress.of(socket)));
    WAYS.put("open a socket to the hypervisor", () -> call("socket", 41, 198, 40, 1));
    WAYS.put("open a raw socket", () -> call("socket", 41, 198, 2, 3, 1));
    WAYS.put("open a packet socket", () -> call("socket", 41, 198, 17, 3));
  }

  static void calls() {
    WAYS.put("become root", () -> call("setuid", 105, 146, 0));
    WAYS.put("become nobody", () -> call("setuid", 105, 146, 65534));
    WAYS.put("become root by su", () -> run("su", "-c", "id -u"));
    WAYS.put("make a user namespace", () -> call("unshare", 272, 97, 0x10000000));
    WAYS.put("make one by clone3", () -> call("clone3", 435, 435, 0, 0));
    WAYS.put("mount", () -> call("mount", 165, 40, 0, 0, 0, 0));
    WAYS.put("change the root", () -> call("chroot", 161, 51, 0));
    WAYS.put("load a module", () -> call("finit_module", 313, 273, 0, 0, 0));
    WAYS.put("load a program into the kernel", () -> call("bpf", 321, 280, 5, 0, 0));
    WAYS.put("use io_uring", () -> call("io_uring_setup", 425, 425, 1, 0));
    WAYS.put("use keyrings", () -> call("keyctl", 250, 219, 0, -3, 1));
    WAYS.put("count other's events", () -> call("perf_event_open", 298, 241, 0, -1, 0, -1));
    WAYS.put("set the clock", () -> call("settimeofday", 164, 170, 0, 0));
    WAYS.put("read the kernel's log", () -> call("syslog", 103, 116, 10, 0, 0));
    WAYS.put("leave the directory by a handle", () -> call("open_by_handle_at", 304, 265, 0, 0, 0));
  }

  static String list(Path dir) throws IOException {
    try (Stream<Path> all = Files.list(dir)) {
      return "" + all.toList();
    }
  }

  /** Lists a folder; it may show this trial, in which the program runs, and nothing else. */
  static String onlyOwn(Path dir) throws IOException {
    Path own = Path.of("").toAbsolutePath();
    try (Stream<Path> all = Files.list(dir)) {
      List<Path> foreign = all.filter(p -> !own.startsWith(p)).toList();
      if (foreign.isEmpty()) throw new IOException("only this trial is there");
      return "" + foreign;
    }
  }

  static String write(Path file) throws IOException {
    Files.writeString(file, "hostile");
    return "wrote " + file;
  }

  /** Writes 1 GiB to /tmp; what has been written is removed. */
  static String fill() throws IOException {
    Path flood = Path.of("/tmp/flood");
    try (var out = Files.newOutputStream(flood)) {
      byte[] block = new byte[1 << 20];
      for (int i = 0; i < 1024; i++) out.write(block);
      return "1 GiB";
    } finally {
      Files.deleteIfExists(flood);
    }
  }

  static String others() throws IOException {
    long self = ProcessHandle.current().pid();
    try (Stream<Path> all = Files.list(Path.of("/proc"))) {
      List<String> pids =
          all.map(p -> p.getFileName().toString())
              .filter(n -> n.matches("\\d+") && Long.parseLong(n) != self)
              .toList();
      if (pids.isEmpty()) throw new IOException("no other process is there");
      return "" + pids;
    }
  }

  static String connect(String host, int port) throws IOException {
    try (Socket s = new Socket()) {
      s.connect(new InetSocketAddress(host, port), 1000);
      return "connected to " + s;
    }
  }

  static String run(String... command) throws Exception {
    Process p = new ProcessBuilder(command).redirectErrorStream(true).start();
    p.getOutputStream().close();
    String out = new String(p.getInputStream().readAllBytes()).strip();
    if (p.waitFor() != 0) throw new IOException(p.exitValue() + " " + out);
    return out;
  }

  /** Makes a system call, by its numbers on x86-64 and AArch64. */
  static String call(String name, long x86, long arm, long... arguments) throws Throwable {
    long[] a = java.util.Arrays.copyOf(arguments, 5);
    long number = System.getProperty("os.arch").equals("aarch64") ? arm : x86;
    long result = (long) syscall.invokeExact(state, number, a[0], a[1], a[2], a[3], a[4]);
    if (result < 0) throw new IOException(name + ": errno " + (int) ERRNO.get(state, 0L));
    return name + " gave " + result;
  }
}
