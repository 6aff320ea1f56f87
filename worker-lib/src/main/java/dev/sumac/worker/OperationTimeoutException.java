package dev.sumac.worker;

/** An operation did not complete within its time limit. */
public final class OperationTimeoutException extends SumacException {
  public OperationTimeoutException(String message) {
    super(message);
  }
}
