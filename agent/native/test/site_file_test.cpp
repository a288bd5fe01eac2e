#include "site_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "pool_builder.h"

namespace misstep {
namespace {

// A file in the temporary folder, gone at the end.
class SiteFileTest : public testing::Test {
 protected:
  ~SiteFileTest() override { unlink(path_.c_str()); }

  void Write(std::string_view name, const std::vector<PreparedMethod>& methods) {
    const ConstantPool pool(builder_.bytes(), builder_.count());
    const ClassFacts facts = {.super = "java/lang/Object", .pool = &pool};
    file_.Class(name, facts, methods);
  }

  // The records behind the magic, each "TAG BYTES" with the bytes as numbers, strings as text.
  std::vector<std::string> Records() const {
    std::ifstream in(path_, std::ios::binary);
    const std::string all((std::istreambuf_iterator<char>(in)), {});
    EXPECT_EQ(all.substr(0, 8), "MISSSIT1");
    std::vector<std::string> records;
    for (size_t at = 8; at < all.size();) {
      const char tag = all[at++];
      const auto size = static_cast<uint8_t>(all[at++]);  // these are short
      EXPECT_LT(size, 0x80);
      std::string record = std::string(1, tag);
      for (const char c : all.substr(at, size)) {
        record += tag == 'S' ? std::string(1, c) : " " + std::to_string(static_cast<uint8_t>(c));
      }
      records.push_back(record);
      at += size;
    }
    return records;
  }

  const std::string path_ = testing::TempDir() + "sites." + std::to_string(getpid()) + ".bin";
  PoolBuilder builder_;
  SiteFile file_;
};

TEST_F(SiteFileTest, AClassIsWrittenOnceWithItsStrings) {
  ASSERT_EQ(file_.Create(path_), "");
  ASSERT_TRUE(file_.on());
  const uint16_t call = builder_.Method("B", "go", "()V");
  PreparedMethod run = {.name = "run", .descriptor = "()V", .is_static = true};
  run.sites = {{.bci = 3, .opcode = kInvokestatic, .call = call},
               {.bci = 200, .opcode = kIfeq, .back = true, .back_to = 3}};
  const PreparedMethod native = {.name = "go", .descriptor = "()V", .native = true};
  Write("A", {run, native});
  Write("A", {run, native});  // the same again
  const std::vector<std::string> first = Records();
  const std::string targets = " 1 3 4 5 0";                    // B.go()V
  const std::string sites = " 3 0 32 3 111 184 1 1 197 1 34";  // 184 and 197 have two bytes
  EXPECT_EQ(first, (std::vector<std::string>{"SA", "Sjava/lang/Object", "SB", "Sgo", "S()V", "Srun",
                                             "C 1 2 0" + targets + " 2 6 5 6 0" + sites + " 4 5 1 0"}));
  run.sites.pop_back();
  Write("A", {run, native});  // another version
  EXPECT_EQ(Records().size(), first.size() + 1);
}

TEST_F(SiteFileTest, RedefinedClassesAreNotedOnceAndCounted) {
  ASSERT_EQ(file_.Create(path_), "");
  EXPECT_EQ(file_.Redefined("A"), 1u);
  EXPECT_EQ(file_.Redefined("A"), 2u);
  EXPECT_EQ(file_.Redefined("B"), 1u);
  EXPECT_EQ(Records(), (std::vector<std::string>{"SA", "R 1", "SB", "R 2"}));
  EXPECT_EQ(file_.RedefinedAtMost(1), std::vector<std::string>{"B"});
}

TEST_F(SiteFileTest, AFolderThatIsMissingIsNamed) {
  const std::string error = file_.Create("/no/such/folder/sites.bin");
  EXPECT_NE(error.find("/no/such/folder/sites.bin"), std::string::npos) << error;
  EXPECT_FALSE(file_.on());
}

TEST(Upcalls, OccasionsOfWhatTheVmCalls) {
  const auto of = [](std::string_view class_name, std::string_view name, std::string_view descriptor) {
    return OccasionsOf(UpcallOf(class_name, name, descriptor), class_name, name, descriptor);
  };
  EXPECT_EQ(of("A", "run", "()V"), 0);
  EXPECT_EQ(of("A", "<clinit>", "()V"), kInitialising);
  EXPECT_EQ(of("java/lang/runtime/ValueObjectMethods", "<clinit>", "()V"), kInitialising | kComparing);
  EXPECT_EQ(of("A", "getStackTrace", "()[Ljava/lang/StackTraceElement;"), kInitialising);
  EXPECT_EQ(of("java/lang/Throwable", "getStackTrace", "()[Ljava/lang/StackTraceElement;"), kResolving | kCompiling);
}

TEST(Upcalls, OccasionsAtInstructions) {
  EXPECT_EQ(OccasionsAt(kIfAcmpeq, "", ""), kComparing);
  EXPECT_EQ(OccasionsAt(kReturn, "", ""), kResolving | kFinalising);
  EXPECT_EQ(OccasionsAt(kLdc, "", ""), kResolving | kLinking);
  EXPECT_EQ(OccasionsAt(kNew, "", ""), kResolving | kInitialising | kFinalising);
  EXPECT_EQ(OccasionsAt(kInvokevirtual, "A", "allocateInstance"), kResolving | kLinking | kFinalising);
  EXPECT_EQ(OccasionsAt(kInvokevirtual, "sun/misc/Unsafe", "allocateInstance"),
            kResolving | kLinking | kFinalising | kInitialising);
}

}  // namespace
}  // namespace misstep
