package misstep.workloads.upcalls;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InvalidObjectException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;

/** Serializes objects that read themselves, replace themselves or refuse. */
final class Serialized implements Part {
  static final long COUNT = 20 + 1 + 1;

  @Override
  public long run(long seed) throws Exception {
    Node list = null;
    for (int i = 0; i < 20; i++) {
      list = new Node(list, seed);
    }
    long count = 0;
    for (Node node = (Node) copy(list); node != null; node = node.next) {
      count += node.read && node.value == seed ? 1 : 0;
    }
    count += copy(Only.INSTANCE) == Only.INSTANCE ? 1 : 0;
    try {
      copy(new Refuses());
    } catch (InvalidObjectException e) {
      count++;
    }
    return count;
  }

  private static Object copy(Object object) throws IOException, ClassNotFoundException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
      out.writeObject(object);
    }
    try (ObjectInputStream in =
        new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
      return in.readObject();
    }
  }

  private static final class Node implements Serializable {
    private static final long serialVersionUID = 1L;

    final Node next;
    final long value;
    transient boolean read;

    Node(Node next, long value) {
      this.next = next;
      this.value = value;
    }

    private void writeObject(ObjectOutputStream out) throws IOException {
      out.defaultWriteObject();
    }

    private void readObject(ObjectInputStream in) throws IOException, ClassNotFoundException {
      in.defaultReadObject();
      read = true;
    }
  }

  private static final class Only implements Serializable {
    private static final long serialVersionUID = 1L;

    static final Only INSTANCE = new Only();

    private Object readResolve() {
      return INSTANCE;
    }
  }

  private static final class Refuses implements Serializable {
    private static final long serialVersionUID = 1L;

    private Object readResolve() throws InvalidObjectException {
      throw new InvalidObjectException("as planned");
    }
  }
}
