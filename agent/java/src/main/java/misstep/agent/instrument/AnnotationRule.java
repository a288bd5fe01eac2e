package misstep.agent.instrument;

/** Says which annotations forbid to instrument the method that carries them. */
public interface AnnotationRule {
  /** Called for each annotation of each chosen method, with its type's descriptor. */
  boolean forbids(String descriptor);
}
