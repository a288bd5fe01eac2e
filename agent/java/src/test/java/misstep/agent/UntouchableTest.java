package misstep.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class UntouchableTest {
  @ParameterizedTest
  @CsvSource({
    "java/lang/Thread, true",
    "java/lang/ThreadLocal, false",
    "java/lang/MisstepShadow, true",
    "java/lang/VirtualThread, true",
    "java/lang/VirtualThread$VThreadContinuation$1, true",
    "java/lang/VirtualThreads, false",
    "jdk/internal/vm/Continuation, true",
    "jdk/internal/vm/Continuation$Pinned, true",
    "jdk/internal/vm/ThreadContainers, false",
    "jdk/internal/reflect/GeneratedMethodAccessor17, true",
    "sun/reflect/GeneratedConstructorAccessor1, true",
    "java/lang/invoke/LambdaForm$MH, true",
    "java/lang/invoke/LambdaForm, false",
    "java/lang/invoke/BoundMethodHandle$Species_LL, true",
    "java/lang/invoke/MethodHandleNatives, false",
    "jdk/jfr/events/ActiveSettingEvent, true",
    "jdk/internal/event/ErrorThrownEvent, true",
    "jdk/jfr/internal/EventControl, false",
    "misstep/agent/asm/ClassReader, true",
    "misstep/agents/X, false",
    "java/util/ArrayList, false",
  })
  void classesOfTheList(String name, boolean expected) {
    assertEquals(expected, Untouchable.isClass(name), name);
  }

  @ParameterizedTest
  @CsvSource({
    "java/io/FileOutputStream, true",
    "java/io/FileOutputStream$1, false",
    "java/net/Socket$SocketInputStream, true",
    "java/net/SocketInputStream, true",
    "java/net/Socket, false",
    "java/lang/Throwable, true",
    "java/lang/Exception, false",
  })
  void classesThatJfrInstruments(String name, boolean expected) {
    assertEquals(expected, Untouchable.isClassOfJfr(name), name);
    assertEquals(false, Untouchable.isClass(name), name);
  }

  @Test
  void annotationsOfTheList() {
    assertTrue(Untouchable.isAnnotation("Ljdk/internal/vm/annotation/ChangesCurrentThread;"));
    assertEquals(false, Untouchable.isAnnotation("Ljdk/internal/vm/annotation/ForceInline;"));
  }
}
