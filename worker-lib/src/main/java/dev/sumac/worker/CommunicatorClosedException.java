package dev.sumac.worker;

/** The communicator was closed, by another thread or before the call. */
public final class CommunicatorClosedException extends SumacException {
  public CommunicatorClosedException(String message) {
    super(message);
  }
}
