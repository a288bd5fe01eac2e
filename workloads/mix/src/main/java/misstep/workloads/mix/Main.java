package misstep.workloads.mix;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import misstep.workloads.Harness;
import misstep.workloads.ValidationException;

/**
 * Parses generated log lines with regular expressions, converts them with Jackson, and adds them up
 * with streams.
 */
public final class Main {
  private static final Pattern LINE =
      Pattern.compile(
          "^(?<host>(?:\\d{1,3}\\.){3}\\d{1,3}) - (?<user>[a-z][\\w.]*|-) \\[(?<time>[^\\]]+)\\]"
              + " \"(?<verb>GET|POST|PUT|DELETE) (?<path>/\\S*?)(?:\\?(?<query>\\S*))?"
              + " HTTP/1\\.[01]\" (?<status>\\d{3}) (?<bytes>\\d+|-)$");
  private static final Pattern PARAMETER =
      Pattern.compile("(?:^|&)(\\w+)=((?:[^&%]|%[0-9a-f]{2})*)");
  private static final Pattern ESCAPE = Pattern.compile("%([0-9a-f]{2})");
  private static final ObjectMapper JSON = new ObjectMapper();

  private Main() {}

  /**
   * Runs the workload.
   *
   * @param args number of lines, seed
   */
  public static void main(String[] args) {
    int size = Harness.argument(args, 0, 40_000);
    int seed = Harness.argument(args, 1, 7);
    Harness.run(
        (index, scratch) -> {
          Log log = new Log(size, seed + index);
          List<Request> requests =
              log.lines().stream()
                  .map(Main::parse)
                  .map(Main::throughJson)
                  .collect(Collectors.toList());
          compare(log.truth(), add(requests));
          tree(requests, log);
        });
  }

  private static Request parse(String line) {
    Matcher m = LINE.matcher(line);
    if (!m.matches()) {
      throw new IllegalStateException("no match: " + line);
    }
    Map<String, String> parameters = new TreeMap<>();
    if (m.group("query") != null) {
      Matcher p = PARAMETER.matcher(m.group("query"));
      while (p.find()) {
        parameters.put(p.group(1), unescaped(p.group(2)));
      }
    }
    long bytes = m.group("bytes").equals("-") ? 0 : Long.parseLong(m.group("bytes"));
    int status = Integer.parseInt(m.group("status"));
    return new Request(
        m.group("host"),
        m.group("user"),
        m.group("verb"),
        m.group("path"),
        status,
        bytes,
        parameters);
  }

  private static String unescaped(String text) {
    Matcher m = ESCAPE.matcher(text);
    StringBuffer value = new StringBuffer();
    while (m.find()) {
      m.appendReplacement(
          value, Matcher.quoteReplacement("" + (char) Integer.parseInt(m.group(1), 16)));
    }
    return m.appendTail(value).toString();
  }

  private static Request throughJson(Request request) {
    try {
      Request same = JSON.readValue(JSON.writeValueAsString(request), Request.class);
      if (!same.equals(request)) {
        throw new IllegalStateException(request + " came back as " + same);
      }
      return same;
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("JSON of " + request, e);
    }
  }

  private static Map<String, Long> add(List<Request> requests) {
    Map<String, Long> sums = new TreeMap<>();
    Function<Function<Request, Object>, Map<Object, Long>> count =
        by -> requests.stream().collect(Collectors.groupingBy(by, Collectors.counting()));
    count.apply(r -> r.verb).forEach((key, n) -> sums.put("verb " + key, n));
    count.apply(r -> r.status).forEach((key, n) -> sums.put("status " + key, n));
    count.apply(r -> r.path).forEach((key, n) -> sums.put("path " + key, n));
    sums.put("bytes", requests.parallelStream().mapToLong(r -> r.bytes).sum());
    sums.put(
        "parameters",
        requests.stream()
            .flatMap(r -> r.parameters.entrySet().stream())
            .mapToLong(e -> e.getKey().length() * 31L + e.getValue().chars().sum())
            .sum());
    return sums;
  }

  private static void compare(Map<String, Long> truth, Map<String, Long> sums)
      throws ValidationException {
    ValidationException.equal("keys", truth.keySet().toString(), sums.keySet().toString());
    for (Map.Entry<String, Long> entry : truth.entrySet()) {
      ValidationException.equal(entry.getKey(), entry.getValue(), sums.get(entry.getKey()));
    }
  }

  /** Writes one large document, reads it as a tree and checks the sum of bytes in it. */
  private static void tree(List<Request> requests, Log log) throws Exception {
    JsonNode root =
        JSON.readTree(
            JSON.writerWithDefaultPrettyPrinter()
                .writeValueAsString(requests.subList(0, requests.size() / 4)));
    long bytes = 0;
    for (JsonNode request : root) {
      bytes += request.get("bytes").asLong();
    }
    ValidationException.equal(
        "bytes in the document", log.bytesOfFirst(requests.size() / 4), bytes);
  }
}
