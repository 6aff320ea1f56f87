package dev.sumac.dataplane;

/**
 * One line of the flow table: an exact match on {@link dev.sumac.protocol.Tag#flow}, an action, and
 * counters.
 */
final class FlowEntry {
  private final int flow;
  private final Action action;
  private long packets;
  private long bytes;

  FlowEntry(int flow, Action action) {
    this.flow = flow;
    this.action = action;
  }

  int flow() {
    return flow;
  }

  Action action() {
    return action;
  }

  void count(int packetBytes) {
    packets++;
    bytes += packetBytes;
  }

  long packets() {
    return packets;
  }

  long bytes() {
    return bytes;
  }
}
