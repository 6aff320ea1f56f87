package dev.sumac.dataplane;

import dev.sumac.protocol.control.SwitchMessage;

/** The switch's end of one rank's control stream. Used on the control thread only. */
public interface MemberStream {
  /** Sends a message; does nothing once the stream has ended. */
  void tell(SwitchMessage message);

  /** Ends the stream in good order. */
  void close();

  /** Ends the stream because the worker broke the protocol; the text says how. */
  void fail(String reason);

  /** Where the rank calls from, for people. */
  String peer();
}
