// The folder of the agent's files where one set of options serves several JVMs: JAVA_TOOL_OPTIONS reaches all that a
// script starts.
#pragma once

#include <string>

namespace misstep {

// Replaces %p in the option out by the pid, and makes that folder and those below it. A JVM that replaced another one
// in the same process (exec) gets a folder of its own, with a dash and a number after the pid. Options without %p are
// left as they are. Returns an empty string, or one line that says what is wrong.
std::string MakeOutFolder(std::string* options, int pid);

// Takes an existing folder for this JVM until its end. Returns false if another JVM that runs has it, and counts this
// one in the folder by a byte of the file "unchecked": a program that starts JVMs with the arguments of its own, as JMH
// does, gives them the agent's options, too.
bool TakeOutFolder(const std::string& out);

// Writes jvm.txt, from which is known afterwards which JVM this was: lines of key=value.
struct About {
  int pid;
  std::string version, home, command, options;
};
std::string WriteAbout(const About& about, const std::string& path);

}  // namespace misstep
