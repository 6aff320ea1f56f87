package dev.sumac.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

class TagTest {
  private static final Tag TAG = new Tag(0x1234, 0x567, Tag.ALL_REDUCE, 0x89AB, Tag.SWITCH);

  @Test
  void aTagIsOneWordWithTheJobInItsTopBits() {
    assertEquals(0x1234_567_1_89AB_FFFEL, TAG.toWord());
    assertEquals(TAG, Tag.of(0x1234_567_1_89AB_FFFEL));
  }

  @Test
  void aWordWithItsTopBitSetIsReadWithoutASign() {
    long word = new Tag(0xFFFF, 0xFFF, 0xF, 0xFFFF, Tag.ALL_RANKS).toWord();
    assertEquals(-1, word);
    assertEquals(0xFFFF, Tag.job(word));
    assertEquals(0xFFFF, Tag.sourceRank(word));
    assertEquals(0xFFFF, Tag.destinationRank(word));
    assertEquals(new Tag(0xFFFF, 0xFFF, 0xF, 0xFFFF, 0xFFFF), Tag.of(word));
  }

  @Test
  void aFlowIsJobCommunicatorAndCollectiveAndNotTheRanks() {
    assertEquals(0x1234_567_1, Tag.flow(TAG.toWord()));
    assertEquals(0x1234_567_1, Tag.flow(new Tag(0x1234, 0x567, 1, 0, 0).toWord()));
  }

  @Test
  void eachFieldBeyondItsLimitIsRefusedByName() {
    assertRefused("job 65536 does not fit 16 bits (0 to 65535)", 65_536, 0, 0, 0, 0);
    assertRefused("communicator 4096 does not fit 12 bits (0 to 4095)", 0, 4_096, 0, 0, 0);
    assertRefused("collective 16 does not fit 4 bits (0 to 15)", 0, 0, 16, 0, 0);
    assertRefused("source rank 65536 does not fit 16 bits (0 to 65535)", 0, 0, 0, 65_536, 0);
    assertRefused("destination rank 65536 does not fit 16 bits (0 to 65535)", 0, 0, 0, 0, 65_536);
  }

  @Test
  void negativeFieldsAreRefusedByName() {
    assertRefused("job -1 does not fit 16 bits (0 to 65535)", -1, 0, 0, 0, 0);
    assertRefused("communicator -1 does not fit 12 bits (0 to 4095)", 0, -1, 0, 0, 0);
    assertRefused("collective -1 does not fit 4 bits (0 to 15)", 0, 0, -1, 0, 0);
    assertRefused("source rank -1 does not fit 16 bits (0 to 65535)", 0, 0, 0, -1, 0);
    assertRefused("destination rank -1 does not fit 16 bits (0 to 65535)", 0, 0, 0, 0, -1);
  }

  @Property
  void everyTagComesBackFromItsWord(
      @ForAll @IntRange(max = 0xFFFF) int job,
      @ForAll @IntRange(max = 0xFFF) int communicator,
      @ForAll @IntRange(max = 0xF) int collective,
      @ForAll @IntRange(max = 0xFFFF) int source,
      @ForAll @IntRange(max = 0xFFFF) int destination) {
    Tag tag = new Tag(job, communicator, collective, source, destination);
    assertEquals(tag, Tag.of(tag.toWord()));
    assertEquals(tag.toWord(), Tag.word(job, communicator, collective, source, destination));
  }

  private static void assertRefused(
      String message, int job, int communicator, int collective, int source, int destination) {
    IllegalArgumentException refusal =
        assertThrows(
            IllegalArgumentException.class,
            () -> new Tag(job, communicator, collective, source, destination));
    assertEquals(message, refusal.getMessage());
  }
}
