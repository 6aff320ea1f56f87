package dev.sumac.worker;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Number conversion: what the ranks' codecs and an integer sum make of floats. */
final class FixedPointCodecTest {
  private static final float NAN = Float.NaN;
  private static final float INF = Float.POSITIVE_INFINITY;

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 7, 8, 9, 64, 65, 1_000, 1_024})
  void theErrorStaysWithinTheStatedBound(int ranks) {
    SplittableRandom random = new SplittableRandom(ranks);
    for (int round = 0; round < 40; round++) {
      float[][] inputs = new float[ranks][24];
      int spread = random.nextInt(1, 60);
      int top = random.nextInt(-100, 100);
      for (float[] input : inputs) {
        for (int i = 0; i < input.length; i++) {
          input[i] =
              Math.scalb((float) (random.nextDouble() * 2 - 1), top - random.nextInt(spread));
        }
      }
      check(inputs);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 8, 1_000, 1_024})
  void extremesStayWithinTheBoundAndNeverOverflow(int ranks) {
    float belowTwo = Math.nextDown(2f);
    float[][] columns = {
      fill(ranks, Float.MAX_VALUE),
      fill(ranks, -Float.MAX_VALUE),
      fill(ranks, Float.MIN_VALUE),
      fill(ranks, Float.MIN_NORMAL),
      fill(ranks, 0f),
      fill(ranks, -0f),
      fill(ranks, belowTwo),
      fill(ranks, -belowTwo),
      fill(ranks, Math.nextDown(Math.scalb(1f, 40))),
    };
    for (float[] column : columns) {
      float[][] inputs = new float[ranks][1];
      for (int rank = 0; rank < ranks; rank++) {
        inputs[rank][0] = column[rank];
      }
      check(inputs);
    }
    float[][] hugeAndTiny = new float[ranks][1];
    for (int rank = 0; rank < ranks; rank++) {
      hugeAndTiny[rank][0] = rank == 0 ? 1e30f : 1e-30f;
    }
    check(hugeAndTiny);
  }

  @Test
  void smallIntegersAreSummedExactly() {
    float[][] inputs = new float[5][100];
    for (int rank = 0; rank < 5; rank++) {
      for (int i = 0; i < 100; i++) {
        inputs[rank][i] = rank * 1_000 + i;
      }
    }
    float[] sums = reduce(inputs);
    for (int i = 0; i < 100; i++) {
      assertEquals(10_000f + 5 * i, sums[i]);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 63, 64, 512, 1_023, 1_024})
  void nanAndInfinitiesComeOutAsInIeeeAdditionWhicheverRankHasThem(int ranks) {
    for (int holder : new int[] {0, ranks - 1}) {
      float[][] inputs = new float[ranks][5];
      inputs[holder] = new float[] {NAN, INF, -INF, 0, 0};
      inputs[ranks - 1 - holder][3] = INF;
      inputs[holder][3] = ranks == 1 ? NAN : -INF;
      assertArrayEquals(new float[] {NAN, INF, -INF, NAN, 0}, reduce(inputs), "holder " + holder);
    }
    float[][] all = new float[ranks][3];
    for (float[] input : all) {
      input[0] = NAN;
      input[1] = INF;
      input[2] = -INF;
    }
    assertArrayEquals(new float[] {NAN, INF, -INF}, reduce(all), "every rank: counters are full");
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 8, 64, 200})
  void finiteNeighboursOfANanKeepTheDocumentedBits(int ranks) {
    SplittableRandom random = new SplittableRandom(ranks);
    float[][] inputs = new float[ranks][50];
    for (float[] input : inputs) {
      for (int i = 1; i < input.length; i++) {
        input[i] = (float) (random.nextDouble() * 2 - 1);
      }
    }
    inputs[0][0] = NAN;
    float[] sums = reduce(inputs);
    int counterBits = 32 - Integer.numberOfLeadingZeros(ranks);
    int log2Ranks = 32 - Integer.numberOfLeadingZeros(ranks - 1);
    // All magnitudes are below 2^0.
    double bound = ranks * 0.5 * Math.scalb(1.0, -(30 - 2 * counterBits - log2Ranks)) + 1e-6;
    for (int i = 1; i < 50; i++) {
      double exact = 0;
      for (float[] input : inputs) {
        exact += input[i];
      }
      assertEquals(exact, sums[i], bound, "element " + i);
    }
  }

  /** Case 6: all 24 orders of arrival. */
  @Test
  void theOrderOfArrivalDoesNotChangeABit() {
    float[][] inputs = {{1, 0.1f, NAN}, {NAN, 0.7f, 3}, {3, -0.3f, INF}, {4, 1e-9f, 5}};
    float[] first = reduce(inputs);
    int[][] orders = new int[24][];
    int count = 0;
    for (int code = 0; code < 256; code++) {
      int[] order = {code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6};
      if (Arrays.stream(order).distinct().count() == 4) {
        orders[count++] = order;
      }
    }
    assertEquals(24, count);
    for (int[] order : orders) {
      float[][] permuted = new float[4][];
      for (int i = 0; i < 4; i++) {
        permuted[i] = inputs[order[i]];
      }
      float[] sums = reduce(permuted);
      for (int i = 0; i < sums.length; i++) {
        assertEquals(Float.floatToRawIntBits(first[i]), Float.floatToRawIntBits(sums[i]));
      }
    }
  }

  @Test
  void theExponentIsTheLeastThatAllMagnitudesAreBelow() {
    assertEquals(1, exponentOf(1f));
    assertEquals(1, exponentOf(Math.nextDown(2f)));
    assertEquals(2, exponentOf(2f));
    assertEquals(0, exponentOf(-0.75f));
    assertEquals(128, exponentOf(Float.MAX_VALUE));
    assertEquals(-125, exponentOf(Float.MIN_NORMAL));
    assertEquals(-126, exponentOf(Float.MIN_VALUE));
    assertEquals(-126, exponentOf(0f));
  }

  private static int exponentOf(float value) {
    float[] values = {0, value, 0};
    FixedPointCodec codec = new FixedPointCodec(Operand.of(values), Operand.of(values), 1);
    return SharedExponent.exponent(codec.exponent(0, 3));
  }

  private static void check(float[][] inputs) {
    float[] sums = reduce(inputs);
    for (int i = 0; i < sums.length; i++) {
      double exact = 0;
      for (float[] input : inputs) {
        exact += input[i];
      }
      float largest = 0;
      for (float[] input : inputs) {
        for (float value : input) {
          largest = Math.max(largest, Math.abs(value));
        }
      }
      if (Math.abs(exact) > Float.MAX_VALUE) {
        assertEquals(Math.copySign(INF, (float) exact), sums[i]);
      } else {
        double allowed =
            Communicator.sumErrorBound(inputs.length, largest) + Math.ulp(sums[i]) / 2.0;
        assertTrue(
            Math.abs(sums[i] - exact) <= allowed,
            "sum " + sums[i] + ", exact " + exact + ", allowed " + allowed);
      }
    }
  }

  /**
   * Encodes at every rank, adds as the switch does (and checks that nothing overflows), decodes.
   */
  private static float[] reduce(float[][] inputs) {
    int ranks = inputs.length;
    int length = inputs[0].length;
    int exponent = Short.MIN_VALUE;
    boolean nonFinite = false;
    for (float[] input : inputs) {
      int mine =
          new FixedPointCodec(Operand.of(input), Operand.of(input), ranks).exponent(0, length);
      exponent = Math.max(exponent, SharedExponent.exponent(mine));
      nonFinite |= SharedExponent.isNonFinite(mine);
    }
    int shared = SharedExponent.of(exponent, nonFinite);
    int[] sums = new int[length];
    int[] words = new int[length];
    for (float[] input : inputs) {
      new FixedPointCodec(Operand.of(input), Operand.of(input), ranks)
          .encode(0, length, shared, words);
      for (int i = 0; i < length; i++) {
        sums[i] = nonFinite ? sums[i] + words[i] : Math.addExact(sums[i], words[i]);
      }
    }
    float[] output = new float[length];
    new FixedPointCodec(Operand.of(inputs[0]), Operand.of(output), ranks)
        .decode(sums, 0, length, shared);
    return output;
  }

  private static float[] fill(int count, float value) {
    float[] values = new float[count];
    Arrays.fill(values, value);
    return values;
  }
}
