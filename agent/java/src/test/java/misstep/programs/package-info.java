/** Main programs that tests run in a JVM of their own, with the agent and without. */
package misstep.programs;
