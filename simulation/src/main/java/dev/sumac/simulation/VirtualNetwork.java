package dev.sumac.simulation;

import dev.sumac.reliability.FaultModel;
import dev.sumac.reliability.FaultSpec;
import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.agrona.concurrent.UnsafeBuffer;

/** All cables between nodes, and who has which address. Not thread-safe. */
final class VirtualNetwork {
  private final EventQueue events;
  private final Link.Spec linkSpec;
  private final FaultSpec faultSpec;
  private final SplittableRandom random;
  private final Trace trace;
  private final Map<InetSocketAddress, Node> nodes = new HashMap<>();
  private final Map<Route, Link> links = new HashMap<>();
  private long packets;

  private record Route(Node from, Node to) {}

  VirtualNetwork(
      EventQueue events,
      Link.Spec linkSpec,
      FaultSpec faultSpec,
      SplittableRandom random,
      Trace trace) {
    this.events = events;
    this.linkSpec = linkSpec;
    this.faultSpec = faultSpec;
    this.random = random;
    this.trace = trace;
  }

  void attach(Node node) {
    nodes.put(node.address(), node);
  }

  /** The link from one node to another. */
  Link link(Node from, Node to) {
    return links.computeIfAbsent(
        new Route(from, to), route -> new Link(linkSpec, faultSpec, random.split()));
  }

  /** Packets that were put on a link so far. */
  long packets() {
    return packets;
  }

  /** Sends one packet to each receiver. */
  void send(Node from, List<InetSocketAddress> receivers, UnsafeBuffer buffer, int lengthBytes) {
    for (InetSocketAddress receiver : receivers) {
      Node to = nodes.get(receiver);
      if (to != null) {
        send(from, to, buffer, lengthBytes);
      }
    }
  }

  private void send(Node from, Node to, UnsafeBuffer buffer, int lengthBytes) {
    packets++;
    long nowNs = events.nowNs();
    Link link = link(from, to);
    FaultModel fate = link.next(lengthBytes);
    int copies = link.isBlocked(nowNs) ? 0 : fate.copies();
    if (copies == 0) {
      trace(from, to, buffer, lengthBytes, "LOST");
      return;
    }
    byte[] bytes = new byte[lengthBytes];
    buffer.getBytes(0, bytes);
    if (fate.damagedBit() != FaultModel.UNDAMAGED) {
      bytes[fate.damagedBit() / 8] ^= (byte) (1 << (fate.damagedBit() % 8));
    }
    for (int copy = 0; copy < copies; copy++) {
      long arrivalNs = link.arrivalNs(lengthBytes, nowNs);
      if (arrivalNs == Link.DROPPED) {
        trace(from, to, buffer, lengthBytes, "DROPPED: the queue is full");
        return;
      }
      long atNs = arrivalNs + fate.delayNs(copy);
      if (trace.isOn()) {
        trace(from, to, buffer, lengthBytes, fateText(fate, copy, atNs - nowNs));
      }
      events.at(atNs, () -> to.deliver(bytes, from.address()));
    }
  }

  private static String fateText(FaultModel fate, int copy, long tookNs) {
    return "arrives after "
        + tookNs
        + " ns"
        + (copy > 0 ? ", TWICE" : "")
        + (fate.damagedBit() == FaultModel.UNDAMAGED ? "" : ", DAMAGED");
  }

  private void trace(Node from, Node to, UnsafeBuffer buffer, int lengthBytes, String fate) {
    if (trace.isOn()) {
      trace.line(
          events.nowNs(),
          from.name(),
          "-> %s: %s; %s",
          to.name(),
          trace.describe(buffer, 0, lengthBytes),
          fate);
    }
  }
}
