package misstep.agent.template;

/**
 * The shadow stack: what instrumented methods call. It becomes {@code java.lang.MisstepShadow}.
 *
 * <p>Each thread, virtual ones too, has a buffer outside the heap whose address is in {@code
 * Thread.misstepShadow}: at +0 the address of the next free entry (top), at +8 the end of the
 * entries (limit), at +16 the countdown to the next call of {@link #check}, at +48 the buffer's own
 * address. An entry is the method's id as 64 bits. Only the thread itself writes; its own signal
 * handler reads, and sees the program's order, which the compilers keep without fences: C1 in any
 * case, C2 since accesses outside the heap are one chain of memory for it. A fence would make it
 * forget all that it knows of the heap, at each call.
 *
 * <p>C2 inlines {@link #enter} and {@link #exit} into hot methods, and no compiler does elsewhere:
 * most of the cost of instrumentation in a short run is compilation, and C1's profiled code of them
 * in each method was a third of it (docs/figures/0005).
 *
 * <p>Nothing here allocates. {@link #enter} either throws having pushed nothing
 * (StackOverflowError, when the stack does not take this call; what another thread has sent to this
 * one), or returns having pushed: what fails behind the store of top takes the push back.
 */
public final class MisstepShadow {
  private static final UnsafeStub U = UnsafeStub.getUnsafe();

  private MisstepShadow() {}

  /**
   * Pushes a method.
   *
   * @param id the method's id, positive
   * @return the top before, for {@link #exit}; 0 when this thread has no shadow
   */
  public static long enter(int id) {
    long buffer = ThreadStub.currentThread().misstepShadow;
    if (buffer <= 0L) {
      return buffer < 0L ? 0L : enterSlowly(id);
    }
    long countdown = U.getLong(null, buffer + 16L) - 1L;
    U.putLong(null, buffer + 16L, countdown);
    if (countdown < 0L) {
      return enterSlowly(id);
    }
    long old = U.getLong(null, buffer);
    U.putLong(null, old, (long) id); // there is room for as many entries as the countdown has
    U.putLong(null, buffer, old + 8L);
    return old;
  }

  /**
   * The rest of {@link #enter}: if the thread has no buffer yet, if a check or a point of the
   * perturbation is due, and if the buffer may be full.
   */
  private static long enterSlowly(int id) {
    ThreadStub thread = ThreadStub.currentThread();
    long buffer = thread.misstepShadow;
    if (buffer == 0L) {
      buffer = attach(thread);
      if (buffer <= 0L) {
        return 0L;
      }
      U.putLong(null, buffer + 16L, U.getLong(null, buffer + 16L) - 1L); // as enter does
    }
    long countdown = U.getLong(null, buffer + 16L);
    long limit = U.getLong(null, buffer + 8L);
    long old = U.getLong(null, buffer);
    if (old < limit) {
      U.putLong(null, old, (long) id);
    }
    // Beyond the limit top still counts, so that the reader knows how many entries are missing, and
    // there is something to look at now and then only.
    U.putLong(null, buffer, old + 8L);
    if (countdown < 0L && (old < limit || (countdown & 63L) == 0L)) {
      try {
        checkUnlessCarrier(thread, id);
      } catch (StackOverflowError e) {
        // No room for the check: it is skipped. The push is complete, so it must not fail.
      } catch (Throwable e) {
        // One that another thread asked for (StopThread): then there is no push.
        U.putLong(null, buffer, old);
        throw e;
      }
    }
    return old;
  }

  /**
   * Pops back to what {@link #enter} returned. It restores instead of decrementing: a frame that
   * vanished without its exit (JVMTI PopFrame, a stack overflow in the exit itself) is healed by
   * its caller's exit.
   *
   * @param old the top to restore; 0 does nothing
   */
  public static void exit(long old) {
    if (old != 0L) {
      long buffer = ThreadStub.currentThread().misstepShadow;
      if (buffer > 0L) {
        // The address is read from memory: if it were known, C2 could see that this store makes the
        // one of enter redundant where nothing happens in between and its slow part never ran.
        U.putLong(null, U.getLong(null, buffer + 48L), old);
      }
    }
  }

  /**
   * Runs the entry check, unless the thread is a carrier that runs as itself above a virtual thread
   * (JDK 21 and later: VirtualThread.switchToCarrierThread and the last steps of yielding): there
   * the stack is the virtual thread's and the shadow the carrier's, and they cannot be compared.
   * The countdown stays below zero, so the next entry tries again.
   */
  private static void checkUnlessCarrier(ThreadStub thread, int id) {
    if (!carrierBelowVirtual(thread)) {
      check(id);
    }
  }

  /**
   * Notes on a carrier's shadow which thread is mounted: its buffer's address at +56 and the
   * carrier's own top at +64. {@code VirtualThread.mount} calls it right before the current thread
   * changes, so that nothing is pushed in between.
   *
   * @param carrier the carrier
   * @param thread what is mounted; 1 is noted for its address when it has no buffer yet
   */
  public static void mount(ThreadStub carrier, ThreadStub thread) {
    long buffer = carrier.misstepShadow;
    if (buffer > 0L) {
      long mounted = thread.misstepShadow;
      U.putLong(null, buffer + 64L, U.getLong(null, buffer));
      U.putLong(null, buffer + 56L, mounted == 0L ? 1L : mounted);
    }
  }

  /**
   * Notes on a carrier's shadow that nothing is mounted. {@code VirtualThread.unmount} calls it
   * right before the current thread changes.
   *
   * @param carrier the carrier
   * @param thread the carrier again, which becomes the current thread
   */
  public static void unmount(ThreadStub carrier, ThreadStub thread) {
    long buffer = carrier.misstepShadow;
    if (buffer > 0L) {
      U.putLong(null, buffer + 56L, 0L);
    }
  }

  /** On JDKs without virtual threads {@link misstep.agent.Patch} makes this return false. */
  private static boolean carrierBelowVirtual(ThreadStub thread) {
    return thread.getContinuation() != null && !(thread instanceof VirtualThreadStub);
  }

  /**
   * Gives the thread its buffer.
   *
   * @return the buffer's address, also stored in the thread; negative when there is to be none
   */
  private static native long attach(ThreadStub thread);

  /**
   * Compares this thread's stacks if the options request it, and sets the countdown again, to no
   * more than the buffer has room for.
   */
  private static native void check(int id);
}
