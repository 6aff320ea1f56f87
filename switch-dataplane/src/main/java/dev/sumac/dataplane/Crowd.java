package dev.sumac.dataplane;

import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;

/**
 * Control streams by the host they come from, in the order of their arrival. Knows who is to go
 * when there are too many: the oldest of the host that has most, so that one host's flood costs
 * another host's worker nothing. Used on the control thread only.
 */
final class Crowd {
  private final Map<String, Set<MemberStream>> byHost = new LinkedHashMap<>();
  private int size;

  void add(MemberStream stream) {
    if (byHost.computeIfAbsent(hostOf(stream), host -> new LinkedHashSet<>()).add(stream)) {
      size++;
    }
  }

  void remove(MemberStream stream) {
    String host = hostOf(stream);
    Set<MemberStream> streams = byHost.get(host);
    if (streams != null && streams.remove(stream)) {
      size--;
      if (streams.isEmpty()) {
        byHost.remove(host);
      }
    }
  }

  /** Who is to go first, or null when nobody is here. */
  MemberStream first() {
    Set<MemberStream> most = Set.of();
    for (Set<MemberStream> streams : byHost.values()) {
      if (streams.size() > most.size()) {
        most = streams;
      }
    }
    return most.isEmpty() ? null : most.iterator().next();
  }

  int size() {
    return size;
  }

  /** The peer without its port. */
  private static String hostOf(MemberStream stream) {
    String peer = stream.peer();
    int port = peer.lastIndexOf(':');
    return port < 0 ? peer : peer.substring(0, port);
  }
}
