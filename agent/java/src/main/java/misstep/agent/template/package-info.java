/**
 * The source of {@code java.lang.MisstepShadow}: compiled against stand-ins, which {@link
 * misstep.agent.Patch} renames to the real classes of the JDK it runs on.
 */
package misstep.agent.template;
