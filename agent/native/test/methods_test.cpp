#include "methods.h"

#include <gtest/gtest.h>

#include "pool_builder.h"

namespace misstep {
namespace {

TEST(MethodTable, BindsRegistrationsToPreparedMethods) {
  MethodTable table;
  const uint32_t first = table.Reserve(2);
  EXPECT_EQ(first, 1u);
  EXPECT_EQ(table.Reserve(1), 3u);
  Registration r;
  r.class_name = "a/B";
  r.first_id = first;
  r.methods = {{"x()V", 6, {{20, 24}}}, {"y(I)I", 7, {}}};
  table.Register(r);
  EXPECT_EQ(table.instrumented(), 2u);
  const auto all = table.Registrations("a/B");
  ASSERT_EQ(all.size(), 1u);
  const std::vector<PreparedMethod> prepared = {{100, "x", "()V", false}, {101, "z", "()V", true}};
  table.Publish("a/B", prepared, all);
  const MethodInfo* x = table.Find(100);
  ASSERT_NE(x, nullptr);
  EXPECT_NE(x->key, 0u);
  EXPECT_EQ(x->push_end, 6);
  ASSERT_EQ(x->exits.size(), 1u);
  EXPECT_EQ(table.Find(101)->key, 0u);
  EXPECT_TRUE(table.Find(101)->native);
  std::vector<uint32_t> ids = {1, 2, 3, 99};
  table.KeysOf(ids);
  EXPECT_EQ(ids[0], x->key);
  EXPECT_NE(ids[1], 0u);
  EXPECT_EQ(ids[2], 0u);  // reserved, not registered
  EXPECT_EQ(ids[3], 0u);  // never reserved
  EXPECT_EQ(table.NameOfKey(x->key).name, "x");
  EXPECT_EQ(table.NameOfKey(999).name, "");
}

// Whoever changes a class behind the instrumentation moves its pushes and pops.
TEST(MethodTable, ProbesThatStandElsewhereProveNothing) {
  PoolBuilder b;
  const uint16_t enter = b.Method("java/lang/MisstepShadow", "enter", "(I)J");
  const uint16_t exit = b.Method("java/lang/MisstepShadow", "exit", "(J)V");
  const uint16_t other = b.Method("a/Other", "enter", "(I)J");
  const ConstantPool pool(b.bytes(), b.count());
  const ClassFacts facts = {.super = "java/lang/Object", .pool = &pool};
  struct Case {
    uint16_t pushed, popped, push_at, pop_at;
    bool moved;
  };
  for (const Case& c : {Case{enter, exit, 3, 21, false}, Case{enter, exit, 11, 29, true},
                        Case{enter, exit, 3, 22, true}, Case{other, exit, 3, 21, true}}) {
    MethodTable table;
    Registration r;
    r.class_name = "a/B";
    r.first_id = table.Reserve(1);
    r.methods = {{"x()V", 8, {{20, 25}}}};  // invokestatic at 3, lstore 4 at 6; lload_0, invokestatic, return from 20
    table.Register(r);
    PreparedMethod m = {.method = 100, .name = "x", .descriptor = "()V"};
    m.sites = {{.bci = c.push_at, .opcode = kInvokestatic, .call = c.pushed},
               {.bci = c.pop_at, .opcode = kInvokestatic, .call = c.popped},
               {.bci = static_cast<uint16_t>(c.pop_at + 3), .opcode = kReturn}};
    table.Publish("a/B", std::span(&m, 1), table.Registrations("a/B"), &facts);
    EXPECT_EQ(table.Find(100)->retransformed, c.moved) << c.push_at << " " << c.pop_at;
  }
}

TEST(MethodTable, TheSameMethodTransformedTwiceHasOneKey) {
  // Two loaders' attempts to define one class: whichever wins, the ids of both mean the method.
  MethodTable table;
  for (int i = 0; i < 2; i++) {
    Registration r;
    r.class_name = "a/B";
    r.first_id = table.Reserve(1);
    r.methods = {{"x()V", 6, {}}};
    table.Register(r);
  }
  std::vector<uint32_t> ids = {1, 2};
  table.KeysOf(ids);
  EXPECT_EQ(ids[0], ids[1]);
}

// A class that is loaded repeatedly, in loaders that are unloaded.
TEST(MethodTable, RegistrationsOfLoadersThatAreGoneAreForgotten) {
  MethodTable table;
  int ended = 0;
  int places[3] = {};
  for (int& place : places) {
    Registration r;
    r.class_name = "a/B";
    r.loader = std::shared_ptr<void>(&place, [&](void*) { ended++; });
    r.first_id = table.Reserve(1);
    r.methods = {{"x()V", 6, {}}};
    table.Register(std::move(r));
  }
  {
    const auto all = table.Registrations("a/B");
    ASSERT_EQ(all.size(), 3u);
    table.Forget("a/B", std::span(all).first(2));
    EXPECT_EQ(ended, 0) << "not while the table is locked";
  }
  EXPECT_EQ(ended, 2);
  const auto left = table.Registrations("a/B");
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0]->loader.get(), &places[2]);
  std::vector<uint32_t> ids = {1, 3};
  table.KeysOf(ids);
  EXPECT_NE(ids[0], 0u) << "entries on shadows keep their names";
  EXPECT_EQ(ids[0], ids[1]);
}

// Programs that load a class repeatedly accumulate registrations.
TEST(MethodTable, AClassThatComesAgainIsKeptOnce) {
  MethodTable table;
  PoolBuilder bytes;
  const uint16_t a = bytes.Method("x/Y", "a", "()V");
  const uint16_t b = bytes.Method("x/Y", "b", "()V");
  const ConstantPool pool(std::span(bytes.bytes()), bytes.count());
  const ClassFacts facts = {.super = "java/lang/Object", .interface = false, .pool = &pool};
  // In a loader of its own: what it calls at 3, and where its instrumentation ends.
  const auto load = [&](uint64_t method, uint16_t call, int32_t push_end) {
    Registration r;
    r.class_name = "a/B";
    r.first_id = table.Reserve(1);
    r.methods = {{"x()V", push_end, {{20, 24}}}};
    table.Register(std::move(r));
    const auto mine = table.Registrations("a/B");
    const std::vector<PreparedMethod> prepared = {
        {.method = method, .name = "x", .descriptor = "()V", .sites = {{.bci = 3, .opcode = 184, .call = call}}}};
    table.Publish("a/B", prepared, mine, &facts);
    table.Forget("a/B", mine);
    return table.Find(method);
  };
  const MethodInfo* first = load(100, a, 6);
  EXPECT_EQ(load(200, a, 6), first);
  EXPECT_EQ(table.Find(100), first);
  const MethodInfo* calls_other = load(300, b, 6);
  EXPECT_NE(calls_other->body, first->body);
  EXPECT_EQ((*calls_other->body->targets)[0].name, "b");
  const MethodInfo* longer = load(400, b, 9);
  EXPECT_EQ(longer->push_end, 9);
  EXPECT_EQ(longer->body, calls_other->body);
  EXPECT_EQ(table.Find(300), calls_other) << "what is known of a method stays";
}

TEST(MethodTable, NotEveryClassOfTheNameIsInstrumented) {
  MethodTable table;
  Registration r;
  r.class_name = "a/B";
  r.first_id = table.Reserve(1);
  r.methods = {{"x()V", 6, {}}};
  table.Register(r);
  const std::vector<PreparedMethod> prepared = {{100, "x", "()V", false}};
  table.Publish("a/B", prepared, {});  // another loader's
  EXPECT_EQ(table.Find(100)->key, 0u);
}

TEST(MethodTable, AClassThatIsInstrumentedAfterItWasPublished) {
  MethodTable table;
  const std::vector<PreparedMethod> prepared = {{100, "x", "()V", false}, {101, "y", "()V", false}};
  table.Publish("a/B", prepared, {});
  const auto again = [&](int32_t push_end) {
    Registration r;
    r.class_name = "a/B";
    r.first_id = table.Reserve(1);
    r.retransformed = true;
    r.methods = {{"x()V", push_end, {{20, 24}}}};
    table.Register(r);
    table.Publish("a/B", prepared, table.Registrations("a/B"));
  };
  again(6);
  const MethodInfo* x = table.Find(100);
  EXPECT_NE(x->key, 0u);
  EXPECT_EQ(x->push_end, 6);
  EXPECT_TRUE(x->retransformed);
  EXPECT_EQ(table.Find(101)->key, 0u);
  // The version before may still run, under a jmethodID of its own.
  table.PublishObsolete("a/B", {102, "x", "()V", false});
  EXPECT_EQ(table.Find(102)->key, x->key);
  EXPECT_TRUE(table.Find(102)->retransformed);
  table.PublishObsolete("a/B", {103, "y", "()V", false});
  EXPECT_EQ(table.Find(103)->key, 0u);
}

TEST(MethodTable, TheSameInstrumentationAgainChangesNothing) {
  // Another agent has a class retransformed that was instrumented as it was loaded.
  MethodTable table;
  const std::vector<PreparedMethod> prepared = {{100, "x", "()V", false}};
  const auto transform = [&](int32_t push_end, bool retransformed) {
    Registration r;
    r.class_name = "a/B";
    r.first_id = table.Reserve(1);
    r.retransformed = retransformed;
    r.methods = {{"x()V", push_end, {}}};
    table.Register(r);
    table.Publish("a/B", prepared, table.Registrations("a/B"));
    return table.Find(100);
  };
  const MethodInfo* x = transform(6, false);
  EXPECT_FALSE(x->retransformed);
  EXPECT_EQ(transform(6, true), x);
  const MethodInfo* other = transform(9, true);
  EXPECT_TRUE(other->retransformed);
  EXPECT_EQ(other->push_end, 9);
  EXPECT_EQ(other->key, x->key);
}

TEST(MethodTable, KnowsItsRuntime) {
  MethodTable table;
  const std::vector<PreparedMethod> prepared = {
      {1, "enter", "(I)J", false}, {2, "exit", "(J)V", false}, {3, "check", "(I)V", true}};
  table.Publish("java/lang/MisstepShadow", prepared, {});
  const std::vector<PreparedMethod> special = {{4, "enterSpecial", "()V", true}, {5, "run", "()V", false}};
  table.Publish("jdk/internal/vm/Continuation", special, {});
  EXPECT_EQ(table.Find(1)->role, Role::kEnter);
  EXPECT_EQ(table.Find(2)->role, Role::kExit);
  EXPECT_EQ(table.Find(3)->role, Role::kRuntime);
  EXPECT_EQ(table.Find(4)->role, Role::kContinuation);
  EXPECT_EQ(table.Find(5)->role, Role::kPlain);
}

}  // namespace
}  // namespace misstep
