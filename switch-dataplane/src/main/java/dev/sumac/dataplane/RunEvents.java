package dev.sumac.dataplane;

/** What shards tell the control side about runs. Called on a shard's thread; must not block. */
interface RunEvents {
  /** A rank's address has been proved on one shard. */
  void onProved(int run, int rank);

  /** Two ranks of a run do not call the same operation. */
  void onMismatch(int run, int operation, int rankA, String valueA, int rankB, String valueB);

  /** A shard has forgotten the run; its slots are free there. */
  void onRemoved(int run);
}
