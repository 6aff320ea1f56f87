/**
 * What survives loss: window, retransmission timers, round-trip estimate, contribution bitmap, and
 * the fault model that tries them. Pure state machines: time comes in as an argument (nanoseconds
 * of any monotonic clock), nothing here owns a thread, a socket or a clock.
 */
package dev.sumac.reliability;
