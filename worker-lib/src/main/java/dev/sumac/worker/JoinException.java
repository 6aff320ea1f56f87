package dev.sumac.worker;

/**
 * This rank can't take part: the switch was not reached, refused it, or other ranks did not come in
 * time.
 */
public class JoinException extends SumacException {
  public JoinException(String message) {
    super(message);
  }

  public JoinException(String message, Throwable cause) {
    super(message, cause);
  }
}
