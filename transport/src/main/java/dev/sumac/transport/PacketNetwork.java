package dev.sumac.transport;

import java.net.InetSocketAddress;
import java.util.List;

/** Where outboxes come from: an endpoint, or what stands in for one in tests and simulations. */
@FunctionalInterface
public interface PacketNetwork {
  /** An outbox whose every packet goes to all of these receivers, in this order. */
  Outbox outbox(List<InetSocketAddress> receivers);

  /** An outbox to one receiver. */
  default Outbox outbox(InetSocketAddress receiver) {
    return outbox(List.of(receiver));
  }
}
