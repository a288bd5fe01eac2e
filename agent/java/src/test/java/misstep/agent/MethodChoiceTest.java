package misstep.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MethodChoiceTest {
  private static final String GET = "java/util/List.get(I)Ljava/lang/Object;";

  @Test
  void fnvHasThePublishedVectors() {
    // draft-eastlake-fnv, FNV-1a 64: the empty string, "a", "foobar".
    assertEquals(0xcbf29ce484222325L, MethodChoice.fnv(""));
    assertEquals(0xaf63dc4c8601ec8cL, MethodChoice.fnv("a"));
    assertEquals(0x85944171f73967e8L, MethodChoice.fnv("foobar"));
  }

  @Test
  void splitmixHasThePublishedVectors() {
    // SplitMix64 seeded with 1234567 gives 6457827717110365317, then 3203168211198807973.
    assertEquals(6457827717110365317L, MethodChoice.splitmix(1234567));
    assertEquals(3203168211198807973L, MethodChoice.splitmix(1234567 + 0x9e3779b97f4a7c15L));
  }

  // Computed by a program of another language that follows the doc comment.
  @ParameterizedTest
  @CsvSource({
    "java/util/List.get(I)Ljava/lang/Object;, 0, 1a4a8d916e0a3fa6",
    "java/util/List.get(I)Ljava/lang/Object;, 1, be830028f921d535",
    "java/util/List.get(I)Ljava/lang/Object;, 18446744073709551615, 5212a56f017f84d1",
    "a/B.<init>()V, 0, 178010bc1363f8bb",
    "a/B.<init>()V, 1, e84a84be9aa0c458",
    "a/B.<init>()V, 18446744073709551615, b3ba863aad06989d",
    "A.m()V, 0, c52305a2b71cbee1",
    "A.m()V, 1, e89fda33ab32707e",
    "A.m()V, 18446744073709551615, cd0ade7fe5444b9",
    "p/Ümläut.naïve(J)[I, 0, 6c68ed2207a220ca",
    "p/Ümläut.naïve(J)[I, 1, 19010e8a1e24182b",
    "p/Ümläut.naïve(J)[I, 18446744073709551615, 4201e14cca956215",
  })
  void valueIsTheDocumentedOne(String key, String seed, String value) {
    assertEquals(
        Long.parseUnsignedLong(value, 16),
        MethodChoice.value(key, Long.parseUnsignedLong(seed)),
        key);
  }

  @Test
  void ratioBoundsAreExact() {
    MethodChoice none = MethodChoice.byRatio(0, 7, List.of(), List.of(), true);
    MethodChoice all = MethodChoice.byRatio(1, 7, List.of(), List.of(), true);
    for (int i = 0; i < 10_000; i++) {
      assertFalse(none.chooses("a/B", "m" + i, "()V"));
      assertTrue(all.chooses("a/B", "m" + i, "()V"));
    }
  }

  @ParameterizedTest
  @CsvSource({"0.01", "0.25", "0.5", "0.75", "0.99"})
  void shareFollowsTheRatio(double ratio) {
    MethodChoice choice = MethodChoice.byRatio(ratio, 42, List.of(), List.of(), true);
    int chosen = 0;
    int n = 100_000;
    for (int i = 0; i < n; i++) {
      if (choice.chooses("a/B" + i % 97, "m" + i, "(I)J")) {
        chosen++;
      }
    }
    double sigma = Math.sqrt(ratio * (1 - ratio) / n);
    assertEquals(ratio, (double) chosen / n, 5 * sigma);
  }

  @Test
  void smallerRatioChoosesSubset() {
    MethodChoice few = MethodChoice.byRatio(0.1, 3, List.of(), List.of(), true);
    MethodChoice many = MethodChoice.byRatio(0.2, 3, List.of(), List.of(), true);
    for (int i = 0; i < 10_000; i++) {
      if (few.chooses("a/B", "m" + i, "()V")) {
        assertTrue(many.chooses("a/B", "m" + i, "()V"));
      }
    }
  }

  @Test
  void valueEqualToThresholdIsNotChosen() {
    // A method whose value has few enough bits to be a double, so that a ratio can equal it.
    int i = 0;
    while ((MethodChoice.value("a/B.m" + i + "()V", 9) & 0x8000_0000_0000_07ffL) != 0) {
      i++;
    }
    double ratio = MethodChoice.value("a/B.m" + i + "()V", 9) * 0x1p-64;
    MethodChoice equal = MethodChoice.byRatio(ratio, 9, List.of(), List.of(), true);
    MethodChoice above = MethodChoice.byRatio(Math.nextUp(ratio), 9, List.of(), List.of(), true);
    assertFalse(equal.chooses("a/B", "m" + i, "()V"));
    assertTrue(above.chooses("a/B", "m" + i, "()V"));
  }

  @Test
  void halfIsTheSignBit() {
    MethodChoice half = MethodChoice.byRatio(0.5, 9, List.of(), List.of(), true);
    for (int i = 0; i < 1000; i++) {
      String name = "m" + i;
      assertEquals(
          MethodChoice.value("a/B." + name + "()V", 9) >= 0, half.chooses("a/B", name, "()V"));
    }
  }

  @ParameterizedTest
  @CsvSource({
    "*, a.B.m, true",
    "a.B.m, a.B.m, true",
    "a.B.m, a.B.mm, false",
    "a.*, a.B.m, true",
    "*.m, a.B.m, true",
    "*.<init>, a.B.<init>, true",
    "a*B*m, a.x.B.y.m, true",
    "a*B*m, a.x.C.y.m, false",
    "**, a, true",
    "*ab, aab, true",
    "*aab, aaab, true",
    "a*, b, false",
    "a.B, a.B.m, false",
  })
  void patternsAreOfWholeNames(String pattern, String text, boolean expected) {
    assertEquals(expected, MethodChoice.matches(pattern, text));
  }

  @Test
  void excludeWins() {
    MethodChoice choice =
        MethodChoice.byRatio(1, 0, List.of("java.util.*"), List.of("*.List.get", "*.remove"), true);
    assertTrue(choice.chooses("java/util/Map", "get", "(I)I"));
    assertFalse(choice.chooses("java/util/List", "get", "(I)I"));
    assertFalse(choice.chooses("java/util/Map", "remove", "(I)I"));
    assertFalse(choice.chooses("java/io/File", "get", "(I)I"));
  }

  @Test
  void exactListIgnoresTheRest() {
    MethodChoice choice = MethodChoice.exactly(Set.of(GET));
    assertTrue(choice.chooses("java/util/List", "get", "(I)Ljava/lang/Object;"));
    assertFalse(choice.chooses("java/util/List", "get", "(J)Ljava/lang/Object;"));
  }

  @ParameterizedTest
  @CsvSource({"-0.1", "1.1", "NaN", "Infinity"})
  void ratioOutsideIsRefused(double ratio) {
    assertThrows(
        IllegalArgumentException.class,
        () -> MethodChoice.byRatio(ratio, 0, List.of(), List.of(), true));
  }
}
