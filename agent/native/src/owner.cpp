#include "owner.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "agent_thread.h"
#include "log.h"

namespace misstep {
namespace {

struct Owner {
  int fd;
  void (*gone)();
};

void* Await(void* argument) {
  const std::unique_ptr<Owner> owner(static_cast<Owner*>(argument));
  prctl(PR_SET_NAME, "misstep-owner");
  int failed = 0;
  while ((failed = flock(owner->fd, LOCK_SH)) != 0 && errno == EINTR) {
  }
  const int why = errno;
  close(owner->fd);
  if (failed != 0) {
    Log(std::string("the agent does not see whether misstep ends: ") + std::strerror(why));
  } else {
    owner->gone();
  }
  return nullptr;
}

}  // namespace

std::string AwaitOwnersEnd(const std::string& file, void (*gone)()) {
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT ? "" : "cannot open " + file + ": " + std::strerror(errno);
  auto owner = std::make_unique<Owner>(Owner{fd, gone});
  pthread_t thread;
  if (!StartThread(&thread, Await, owner.get())) {
    close(fd);
    return "cannot start the thread that waits for the end of misstep";
  }
  pthread_detach(thread);
  owner.release();
  return "";
}

}  // namespace misstep
