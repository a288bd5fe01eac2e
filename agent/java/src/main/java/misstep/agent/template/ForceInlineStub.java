package misstep.agent.template;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** Stands for the JDK's {@code @ForceInline}, which only classes of the boot loader may use. */
@Retention(RetentionPolicy.RUNTIME)
@interface ForceInlineStub {}
