package dev.sumac.dataplane;

import dev.sumac.protocol.Tag;
import org.agrona.collections.Int2ObjectHashMap;

/**
 * Which action a tag selects. For now the entries are those that job admission installs, two a run,
 * each an exact match on job, communicator and collective. Used on the shard's thread only.
 */
final class FlowTable {
  private final Int2ObjectHashMap<FlowEntry> entries = new Int2ObjectHashMap<>();

  void install(FlowEntry entry) {
    entries.put(entry.flow(), entry);
  }

  void remove(int flow) {
    entries.remove(flow);
  }

  /** The entry for a packet's tag, or null for a table miss. */
  FlowEntry match(long tag) {
    return entries.get(Tag.flow(tag));
  }

  int size() {
    return entries.size();
  }
}
