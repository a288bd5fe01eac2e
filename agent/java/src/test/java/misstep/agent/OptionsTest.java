package misstep.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class OptionsTest {
  @Test
  void readsItsKeysAndPassesOverOthers() throws IOException {
    MethodChoice choice =
        Options.methodChoice(
            "out=/tmp/x,seed=1,methods=1,gst-asgct=0.5,include=a.*;b.*,exclude=a.B.*");
    assertTrue(choice.chooses("a/C", "m", "()V"));
    assertTrue(choice.chooses("b/C", "m", "()V"));
    assertFalse(choice.chooses("a/B", "m", "()V"));
    assertFalse(choice.chooses("c/B", "m", "()V"));
  }

  @Test
  void folderOfTheAgent() {
    assertEquals("/tmp/x", Options.out("seed=4,out=/tmp/x,methods=1"));
    assertEquals("", Options.out("seed=4"));
  }

  @Test
  void intervalOfTheStackSampler() {
    assertEquals(5_000_000, Options.stacksNanos("out=/tmp/x,stacks=5000"));
    assertEquals(0, Options.stacksNanos("out=/tmp/x"));
  }

  @Test
  void whetherLeavesAreInstrumented() throws IOException {
    assertTrue(Options.methodChoice("out=/tmp/x").leaves());
    assertTrue(Options.methodChoice("out=/tmp/x,leaves=1").leaves());
    assertFalse(Options.methodChoice("out=/tmp/x,leaves=0").leaves());
  }

  @Test
  void whetherJfrRecords() {
    assertTrue(Options.jfr("out=/tmp/x,jfr=1"));
    assertFalse(Options.jfr("out=/tmp/x,jfr=0"));
    assertFalse(Options.jfr("out=/tmp/x"));
  }

  @Test
  void defaultsAreThoseOfTheNativeHalf() throws IOException {
    assertTrue(Options.methodChoice("out=/tmp/x").chooses("a/B", "m", "()V"));
    assertFalse(Options.methodChoice("out=/tmp/x,methods=0").chooses("a/B", "m", "()V"));
    MethodChoice unasked = Options.methodChoice("methods=0.5");
    MethodChoice one = Options.methodChoice("methods=0.5,seed=1");
    for (int i = 0; i < 100; i++) {
      assertEquals(one.chooses("a/B", "m" + i, "()V"), unasked.chooses("a/B", "m" + i, "()V"));
    }
  }

  @Test
  void seedIsUnsigned() throws IOException {
    MethodChoice decimal = Options.methodChoice("methods=0.5,seed=18446744073709551615");
    MethodChoice hexadecimal = Options.methodChoice("methods=0.5,seed=0xffffffffffffffff");
    MethodChoice other = Options.methodChoice("methods=0.5,seed=1");
    int differences = 0;
    for (int i = 0; i < 100; i++) {
      boolean chosen = decimal.chooses("a/B", "m" + i, "()V");
      assertEquals(chosen, hexadecimal.chooses("a/B", "m" + i, "()V"));
      if (chosen != other.chooses("a/B", "m" + i, "()V")) {
        differences++;
      }
    }
    assertTrue(differences > 20, "another seed must choose others, differs in " + differences);
  }

  @Test
  void onlyNamesAFileOfMethods(@TempDir Path dir) throws IOException {
    Path file = dir.resolve("only.txt");
    Files.writeString(file, "# two methods\n\n a/B.m()V \r\na/B.<init>(I)V\n");
    MethodChoice choice = Options.methodChoice("methods=1,include=z.*,only=" + file);
    assertTrue(choice.chooses("a/B", "m", "()V"));
    assertTrue(choice.chooses("a/B", "<init>", "(I)V"));
    assertFalse(choice.chooses("z/Z", "m", "()V"));
  }

  @Test
  void absentFileIsAnError(@TempDir Path dir) {
    assertThrows(
        NoSuchFileException.class, () -> Options.methodChoice("only=" + dir.resolve("absent.txt")));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"seed=-1", "seed=x", "seed=", "methods=2", "methods=-1", "methods=", "methods"})
  void badValueIsNamed(String options) {
    IllegalArgumentException e =
        assertThrows(IllegalArgumentException.class, () -> Options.methodChoice(options));
    assertTrue(e.getMessage().contains(options), e.getMessage());
  }
}
