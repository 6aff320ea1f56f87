package dev.sumac.worker;

/** Two ranks did not call the same operation: another length, type or kind. */
public final class OperationMismatchException extends SumacException {
  public OperationMismatchException(String message) {
    super(message);
  }
}
