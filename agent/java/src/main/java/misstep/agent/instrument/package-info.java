/** Rewrites the bytes of one class: one visitor per concern, joined by {@link Instrumenter}. */
package misstep.agent.instrument;
