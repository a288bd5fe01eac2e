/**
 * The Java half of the validation agent: it rewrites chosen methods so that each keeps a second,
 * independent record of the calls in progress.
 */
package misstep.agent;
