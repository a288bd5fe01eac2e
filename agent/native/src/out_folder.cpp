#include "out_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace misstep {
namespace {

constexpr std::string_view kKey = "out=";
constexpr std::string_view kPid = "%p";
constexpr int kMostInOneProcess = 100;

std::string CannotMake(const std::string& folder) {
  return "option out: cannot make the folder " + folder + ": " + std::strerror(errno);
}

// One line: what follows a line break would be another key.
std::string Line(std::string_view key, std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return std::string(key) + "=" + text + "\n";
}

}  // namespace

std::string MakeOutFolder(std::string* options, int pid) {
  size_t begin = options->compare(0, kKey.size(), kKey) == 0 ? 0 : options->find("," + std::string(kKey));
  if (begin == std::string::npos) return "";
  begin = options->find('=', begin) + 1;
  const size_t end = std::min(options->find(',', begin), options->size());
  const std::string out = options->substr(begin, end - begin);
  const size_t at = out.find(kPid);
  if (at == std::string::npos) return "";
  const size_t slash = std::min(out.find('/', at), out.size());  // the first folder that is this JVM's
  for (int n = 1; n <= kMostInOneProcess; n++) {
    std::string name = std::to_string(pid);
    if (n > 1) name += "-" + std::to_string(n);
    std::string folder = out.substr(0, at) + name + out.substr(at + kPid.size(), slash - at - kPid.size());
    if (mkdir(folder.c_str(), 0700) != 0) {
      if (errno == EEXIST) continue;
      return CannotMake(folder);
    }
    for (size_t from = slash; from < out.size();) {
      const size_t to = std::min(out.find('/', from + 1), out.size());
      folder += out.substr(from, to - from);
      if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return CannotMake(folder);
      from = to;
    }
    options->replace(begin, end - begin, folder);
    return "";
  }
  return "option out=" + out + ": process " + std::to_string(pid) + " has started too many JVMs: name an empty folder";
}

bool TakeOutFolder(const std::string& out) {
  const int folder = open(out.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return true;  // what cannot be used is said by who uses it
  if (flock(folder, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return true;  // the lock is this process's
  close(folder);
  const int count = open((out + "/unchecked").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (count >= 0) {
    [[maybe_unused]] const ssize_t n = write(count, "+", 1);
    close(count);
  }
  return false;
}

std::string WriteAbout(const About& about, const std::string& path) {
  const std::string text = Line("pid", std::to_string(about.pid)) + Line("version", about.version) +
                           Line("home", about.home) + Line("command", about.command) + Line("options", about.options);
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return "cannot write " + path + ": " + std::strerror(errno);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = std::fclose(file) == 0;
  return written && closed ? "" : "cannot write " + path + ": " + std::strerror(errno);
}

}  // namespace misstep
