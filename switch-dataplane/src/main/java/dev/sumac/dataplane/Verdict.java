package dev.sumac.dataplane;

/** What a contribution is to the slot that it belongs to. */
enum Verdict {
  /** The first of its chunk: its values overwrite the slot. */
  OPENED,
  /** Another one of the chunk: its values are added. */
  ADDED,
  /** In the sum already, which still waits for others. */
  DUPLICATE,
  /** In the sum already, which is complete: this rank missed the result. */
  ALREADY_COMPLETE,
  /** Of a chunk that the slot has left behind. */
  STALE,
  /** Of a chunk that no rank can have reached by the rules. */
  FROM_THE_FUTURE,
  /** Disagrees with the chunk's first contribution about the operation. */
  MISMATCH
}
