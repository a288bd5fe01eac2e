// The folder of the agent's files where one set of options serves several JVMs: JAVA_TOOL_OPTIONS reaches all that a
// script starts.
#pragma once

#include <string>

namespace misstep {

// Replaces %p in the option out by the pid, and makes that folder and those below it. A JVM that replaced another one
// in the same process (exec) gets a folder of its own, with a dash and a number after the pid. Options without %p are
// left as they are. Returns an empty string, or one line that says what is wrong.
std::string MakeOutFolder(std::string* options, int pid);

// Writes jvm.txt, from which is known afterwards which JVM this was: lines of key=value.
struct About {
  int pid;
  std::string version, home, command, options;
};
std::string WriteAbout(const About& about, const std::string& path);

}  // namespace misstep
