#include "log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace misstep {
namespace {

int log_fd = -1;

}  // namespace

std::string OpenLog(const std::string& path) {
  log_fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  return log_fd >= 0 ? "" : "cannot create " + path + ": " + std::strerror(errno);
}

void Log(std::string_view line) {
  std::string whole(line);
  whole.push_back('\n');
  [[maybe_unused]] const ssize_t n = write(log_fd, whole.data(), whole.size());
}

}  // namespace misstep
