package misstep.agent.template;

/** Stands for {@code jdk.internal.vm.Continuation}. */
final class ContinuationStub {
  private ContinuationStub() {}
}
