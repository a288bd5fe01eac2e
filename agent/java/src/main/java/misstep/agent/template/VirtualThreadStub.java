package misstep.agent.template;

/** Stands for {@code java.lang.BaseVirtualThread}, the type of every virtual thread. */
class VirtualThreadStub extends ThreadStub {}
