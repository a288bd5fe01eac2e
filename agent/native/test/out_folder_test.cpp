#include "out_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace misstep {
namespace {

bool IsFolder(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

class OutFolder : public testing::Test {
 protected:
  OutFolder() {
    std::string pattern = testing::TempDir() + "/out-XXXXXX";
    dir_ = mkdtemp(pattern.data());
  }
  std::string dir_;
};

TEST_F(OutFolder, OfEachProcess) {
  std::string options = "seed=1,out=" + dir_ + "/%p/agent,depth=64";
  EXPECT_EQ(MakeOutFolder(&options, 17), "");
  EXPECT_EQ(options, "seed=1,out=" + dir_ + "/17/agent,depth=64");
  EXPECT_TRUE(IsFolder(dir_ + "/17/agent"));
}

TEST_F(OutFolder, OfASecondJvmInOneProcess) {
  for (const char* name : {"/jvm17", "/jvm17-2", "/jvm17-3"}) {
    std::string options = "out=" + dir_ + "/jvm%p";
    EXPECT_EQ(MakeOutFolder(&options, 17), "");
    EXPECT_EQ(options, "out=" + dir_ + name);
    EXPECT_TRUE(IsFolder(dir_ + name));
  }
}

TEST_F(OutFolder, OthersAreLeftAsTheyAre) {
  for (const char* text : {"out=/nowhere/x,seed=%p", "seed=1", ""}) {
    std::string options = text;
    EXPECT_EQ(MakeOutFolder(&options, 17), "");
    EXPECT_EQ(options, text);
  }
  std::string options = "out=/nowhere/%p";
  EXPECT_NE(MakeOutFolder(&options, 17).find("cannot make the folder /nowhere/17"), std::string::npos);
}

TEST_F(OutFolder, OfAnotherJvmThatRuns) {
  int ready[2], end[2];
  ASSERT_EQ(pipe(ready) + pipe(end), 0);
  const pid_t other = fork();
  if (other == 0) {
    char c = TakeOutFolder(dir_) ? 'y' : 'n';
    [[maybe_unused]] ssize_t n = write(ready[1], &c, 1);
    n = read(end[0], &c, 1);
    _exit(0);
  }
  char c = 0;
  ASSERT_EQ(read(ready[0], &c, 1), 1);
  EXPECT_EQ(c, 'y');
  EXPECT_FALSE(TakeOutFolder(dir_));
  EXPECT_FALSE(TakeOutFolder(dir_));
  struct stat counted = {};
  ASSERT_EQ(stat((dir_ + "/unchecked").c_str(), &counted), 0);
  EXPECT_EQ(counted.st_size, 2);
  ASSERT_EQ(write(end[1], &c, 1), 1);
  ASSERT_EQ(waitpid(other, nullptr, 0), other);
  EXPECT_TRUE(TakeOutFolder(dir_)) << "the other one has ended";
  EXPECT_TRUE(TakeOutFolder("/nowhere"));
}

TEST_F(OutFolder, AboutHasALineForEachKey) {
  EXPECT_EQ(WriteAbout({1, "v", "/h", "Main a\nb", "out=/x"}, dir_ + "/jvm.txt"), "");
  std::ifstream file(dir_ + "/jvm.txt");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), "pid=1\nversion=v\nhome=/h\ncommand=Main a b\noptions=out=/x\n");
  EXPECT_NE(WriteAbout({}, "/nowhere/jvm.txt").find("cannot write /nowhere/jvm.txt"), std::string::npos);
}

}  // namespace
}  // namespace misstep
