package dev.sumac.worker;

/** The connection to the switch is gone. */
public final class SwitchLostException extends SumacException {
  public SwitchLostException(String message) {
    super(message);
  }
}
