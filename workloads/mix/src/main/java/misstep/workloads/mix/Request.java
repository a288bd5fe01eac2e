package misstep.workloads.mix;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Map;
import java.util.Objects;

/** The content of one line. */
final class Request {
  public final String host;
  public final String user;
  public final String verb;
  public final String path;
  public final int status;
  public final long bytes;
  public final Map<String, String> parameters;

  @JsonCreator
  Request(
      @JsonProperty("host") String host,
      @JsonProperty("user") String user,
      @JsonProperty("verb") String verb,
      @JsonProperty("path") String path,
      @JsonProperty("status") int status,
      @JsonProperty("bytes") long bytes,
      @JsonProperty("parameters") Map<String, String> parameters) {
    this.host = host;
    this.user = user;
    this.verb = verb;
    this.path = path;
    this.status = status;
    this.bytes = bytes;
    this.parameters = parameters;
  }

  @Override
  public boolean equals(Object other) {
    if (!(other instanceof Request)) {
      return false;
    }
    Request r = (Request) other;
    return host.equals(r.host)
        && user.equals(r.user)
        && verb.equals(r.verb)
        && path.equals(r.path)
        && status == r.status
        && bytes == r.bytes
        && parameters.equals(r.parameters);
  }

  @Override
  public int hashCode() {
    return Objects.hash(host, user, verb, path, status, bytes, parameters);
  }

  @Override
  public String toString() {
    return verb + " " + path + " " + parameters + " by " + user + " at " + host;
  }
}
