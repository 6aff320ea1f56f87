package dev.sumac.dataplane;

import dev.sumac.protocol.control.SwitchMessage;

/** The switch's end of one rank's control stream. Used on the control thread only. */
interface MemberStream {
  void tell(SwitchMessage message);

  /** Ends the stream in good order. */
  void close();

  /** Where the rank calls from, for people. */
  String peer();
}
