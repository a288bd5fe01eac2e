import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;
import jdk.jfr.EventType;
import jdk.jfr.FlightRecorder;
import jdk.jfr.SettingDescriptor;

/** Prints the events of this JDK's JFR, a line each: the name and NAME=DEFAULT of each setting, with tabs in between. */
public class Events {
  public static void main(String[] arguments) {
    for (EventType event : FlightRecorder.getFlightRecorder().getEventTypes()) {
      List<String> words =
          event.getSettingDescriptors().stream().map(Events::text).collect(Collectors.toList());
      Collections.sort(words);
      words.add(0, event.getName());
      System.out.println(String.join("\t", words));
    }
  }

  private static String text(SettingDescriptor setting) {
    return setting.getName() + "=" + setting.getDefaultValue();
  }
}
