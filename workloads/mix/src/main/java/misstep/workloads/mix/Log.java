package misstep.workloads.mix;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;

/** Generated lines of a web server's log, with the expected sums. */
final class Log {
  private static final String[] VERBS = {"GET", "GET", "GET", "POST", "PUT", "DELETE"};
  private static final int[] STATUSES = {200, 200, 200, 204, 301, 404, 500};

  private final List<String> lines = new ArrayList<>();
  private final Map<String, Long> truth = new TreeMap<>();
  private final long[] bytes; // of the lines up to the index

  Log(int size, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    bytes = new long[size + 1];
    truth.put("parameters", 0L);
    for (int i = 0; i < size; i++) {
      lines.add(line(random, i));
    }
    truth.put("bytes", bytes[size]);
  }

  List<String> lines() {
    return lines;
  }

  Map<String, Long> truth() {
    return truth;
  }

  long bytesOfFirst(int count) {
    return bytes[count];
  }

  private String line(SplittableRandom random, int number) {
    String verb = VERBS[random.nextInt(VERBS.length)];
    int status = STATUSES[random.nextInt(STATUSES.length)];
    String path = "/shelf/" + random.nextInt(40) + "/book";
    count("verb " + verb);
    count("status " + status);
    count("path " + path);
    StringBuilder query = new StringBuilder();
    for (int i = random.nextInt(4); i > 0; i--) {
      parameter(random, query, i);
    }
    boolean none = random.nextInt(9) == 0;
    long sent = none ? 0 : random.nextInt(100_000);
    bytes[number + 1] = bytes[number] + sent;
    return String.format(
        "%d.%d.%d.%d - %s [21/Nov/2026:12:%02d:%02d +0000] \"%s %s%s HTTP/1.1\" %d %s",
        random.nextInt(256),
        random.nextInt(256),
        random.nextInt(256),
        random.nextInt(256),
        random.nextBoolean() ? "-" : "user" + random.nextInt(100) + ".x",
        number / 60 % 60,
        number % 60,
        verb,
        path,
        query.length() == 0 ? "" : "?" + query,
        status,
        none ? "-" : sent);
  }

  private void parameter(SplittableRandom random, StringBuilder query, int number) {
    String key = "key" + number;
    long sum = key.length() * 31L;
    query.append(query.length() == 0 ? "" : "&").append(key).append('=');
    for (int i = random.nextInt(12); i > 0; i--) {
      char c = (char) (' ' + random.nextInt(95));
      sum += c;
      boolean plain = c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z';
      query.append(plain ? "" + c : String.format("%%%02x", (int) c));
    }
    truth.merge("parameters", sum, Long::sum);
  }

  private void count(String key) {
    truth.merge(key, 1L, Long::sum);
  }
}
