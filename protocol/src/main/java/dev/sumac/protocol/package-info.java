/**
 * What crosses a wire: the tag, the aggregation packet and its check value. This room never does
 * I/O, never looks at a clock and keeps no state between packets; docs/protocol.md draws every
 * byte.
 */
package dev.sumac.protocol;
