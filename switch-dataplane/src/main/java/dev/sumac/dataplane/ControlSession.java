package dev.sumac.dataplane;

import dev.sumac.protocol.control.WorkerMessage;

/**
 * The switch's side of one control stream: one rank's membership, from its first message to the end
 * of the stream. Used on the control thread only; owns no thread and no connection.
 *
 * <pre>
 *   OPEN --join--> CHALLENGED --proof--> MEMBER --leave or end--> ENDED
 *   OPEN, CHALLENGED --refused, or end--> ENDED
 * </pre>
 */
public final class ControlSession {
  private final Admission admission;
  private final MemberStream stream;
  private JobRun run;
  private int rank;
  private boolean hasJoined;

  ControlSession(Admission admission, MemberStream stream) {
    this.admission = admission;
    this.stream = stream;
  }

  /** The worker says something. */
  public void onMessage(WorkerMessage message) {
    switch (message.getMessageCase()) {
      case JOIN -> {
        if (hasJoined) {
          fail("a call joins once");
          return;
        }
        hasJoined = true;
        rank = message.getJoin().getRank();
        admission.join(message.getJoin(), stream);
      }
      case PROOF -> {
        if (run != null) {
          fail("a call joins once");
          return;
        }
        run = admission.prove(message.getProof(), stream);
      }
      case LEAVE -> {
        if (run != null) {
          admission.leave(run, rank, message.getLeave());
        }
      }
      case MESSAGE_NOT_SET -> fail("a message that this switch does not know");
    }
  }

  /** The worker has ended the stream in good order. */
  public void onCompleted() {
    ended("it ended its control stream without leaving");
    stream.close();
  }

  /** The stream is broken: nothing comes and nothing goes any more. */
  public void onBroken() {
    ended("its control connection broke");
    onClosed();
  }

  /** The switch's own end of the stream has gone through. */
  public void onClosed() {
    admission.ended(stream);
  }

  private void fail(String reason) {
    ended(reason);
    stream.fail(reason);
  }

  private void ended(String reason) {
    if (run != null) {
      admission.streamEnded(run, rank, reason);
    }
  }
}
