package dev.sumac.worker;

/**
 * Anything that keeps a communicator from doing what was asked; the subclasses say what. One line
 * for a person.
 */
public class SumacException extends RuntimeException {
  public SumacException(String message) {
    super(message);
  }

  public SumacException(String message, Throwable cause) {
    super(message, cause);
  }
}
