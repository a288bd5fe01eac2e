#include "edges.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "compare.h"
#include "methods.h"
#include "pool_builder.h"

namespace misstep {
namespace {

constexpr uint8_t kNop = 0;
constexpr uint8_t kGoto = 167;

// One instruction of a test method; each stands at a bci of its own, ten apart.
struct Instruction {
  uint8_t opcode = kNop;
  std::string_view owner, name, descriptor;
  bool back = false;
  uint16_t back_to = 0;  // the number of an instruction
};
constexpr int32_t kApart = 10;

// Classes whose methods' code tests write down, and frames of them.
class Program {
 public:
  void Class(std::string_view name, std::string_view super, bool interface = false) {
    ConstantPool none({}, 0);
    supers_[std::string(name)] = {std::string(super), interface};
    const ClassFacts facts = {.super = super, .interface = interface, .pool = &none};
    const std::vector<PreparedMethod> methods = {{.method = next_++, .name = "unused", .descriptor = "()V"}};
    table_.Publish(name, methods, {}, &facts);
  }

  enum class Is { kPlain, kStatic, kNative };
  void Method(std::string_view owner, std::string_view name, std::string_view descriptor,
              const std::vector<Instruction>& code = {}, Is is = Is::kPlain) {
    PoolBuilder b;
    PreparedMethod m = {.method = next_++, .name = std::string(name), .descriptor = std::string(descriptor)};
    m.is_static = is == Is::kStatic;
    m.native = is == Is::kNative;
    for (size_t i = 0; i < code.size(); i++) {
      const Instruction& in = code[i];
      RawSite site = {.bci = static_cast<uint16_t>(i * kApart),
                      .opcode = in.opcode,
                      .back = in.back,
                      .back_to = static_cast<uint16_t>(in.back_to * kApart)};
      if (in.opcode == kInvokedynamic) site.call = b.Dynamic(in.name, in.descriptor);
      if (in.opcode >= kInvokevirtual && in.opcode < kInvokedynamic)
        site.call = b.Method(in.owner, in.name, in.descriptor);
      if (in.opcode != kNop && (in.opcode != kGoto || in.back)) m.sites.push_back(site);
    }
    const bool body = !m.native;
    m.sites.push_back({.bci = 0xfffe, .opcode = kReturn});  // every method ends
    if (!body) m.sites.clear();
    const auto& super = supers_[std::string(owner)];
    const ConstantPool pool(b.bytes(), b.count());
    const ClassFacts facts = {.super = super.first, .interface = super.second, .pool = &pool};
    const std::vector<PreparedMethod> methods = {m};
    table_.Publish(owner, methods, {}, &facts);
    ids_[std::string(owner) + "." + std::string(name) + std::string(descriptor)] = m.method;
  }

  // The frame of a method, at the instruction of this number.
  misstep::Frame Frame(const std::string& method, int32_t instruction = 0) {
    EXPECT_TRUE(ids_.contains(method)) << method;
    misstep::Frame f = {.method = ids_[method], .bci = instruction < 0 ? instruction : instruction * kApart};
    table_.Resolve(std::span(&f, 1));
    return f;
  }

  Explained Edge(const std::string& caller, int32_t instruction, const std::string& callee) {
    return ExplainEdge(Frame(caller, instruction), Frame(callee));
  }

  MethodTable table_;

 private:
  uint64_t next_ = 1;
  std::map<std::string, std::pair<std::string, bool>> supers_;
  std::map<std::string, uint64_t> ids_;
};

// A small program: Main calls Shape.area() on a Circle through the class and through an interface, and helpers.
class Shapes : public Program {
 public:
  Shapes();
};

Shapes::Shapes() {
  Class("java/lang/Object", "");
  Class("Shape", "java/lang/Object");
  Class("Circle", "Shape");
  Class("Stranger", "java/lang/Object");
  Class("Area", "java/lang/Object", true);
  Method("Main", "main", "()V",
         {{kInvokestatic, "Main", "help", "(I)V"},
          {kInvokevirtual, "Shape", "area", "()I"},
          {kInvokeinterface, "Area", "area", "()I"},
          {kInvokespecial, "Circle", "<init>", "()V"},
          {kNew},
          {kNop},
          {kGoto, "", "", "", true},
          {kIdiv},
          {kInvokevirtual, "Circle", "area", "()I"},
          {kInvokevirtual, "[I", "clone", "()Ljava/lang/Object;"}},
         Is::kStatic);
  Method("Main", "help", "(I)V",
         {{kNop}, {kInvokestatic, "Main", "help", "(I)V"}, {kInvokevirtual, "Shape", "area", "()I"}}, Is::kStatic);
  Method("Main", "loop", "()V", {{kNop}, {kNop}, {kNop}, {kGoto, "", "", "", true, 1}}, Is::kStatic);
  for (const char* c : {"Shape", "Circle", "Stranger", "Area"}) Method(c, "area", "()I", {{kNop}, {kNew}});
  for (const char* c : {"Shape", "Circle"})
    Method(c, "<init>", "()V", {{kNop}, {kInvokespecial, "Shape", "<init>", "()V"}});
  Method("java/lang/Object", "clone", "()Ljava/lang/Object;", {}, Is::kNative);
  Method("Circle", "<clinit>", "()V", {}, Is::kStatic);
  Method("Loader", "loadClass", "(Ljava/lang/String;)Ljava/lang/Class;", {});
  Method("java/lang/ArithmeticException", "<init>", "(Ljava/lang/String;)V", {});
  Method("java/lang/invoke/MethodHandleNatives", "linkCallSite", "()V", {}, Is::kStatic);
  Method("java/lang/ref/Finalizer", "register", "(Ljava/lang/Object;)V", {}, Is::kStatic);
  Method("Natives", "call", "()V", {}, Is::kNative);
}

TEST(Edges, AnInvokeOfTheMethodIsACall) {
  Shapes p;
  EXPECT_EQ(p.Edge("Main.main()V", 0, "Main.help(I)V"), Explained::kCall);
  EXPECT_EQ(p.Edge("Main.main()V", 1, "Shape.area()I"), Explained::kCall);
  EXPECT_EQ(p.Edge("Main.main()V", 1, "Circle.area()I"), Explained::kCall);  // overridden
  EXPECT_EQ(p.Edge("Main.main()V", 8, "Shape.area()I"), Explained::kCall);   // inherited
  EXPECT_EQ(p.Edge("Main.main()V", 8, "Area.area()I"), Explained::kCall);    // a default method
  EXPECT_EQ(p.Edge("Main.main()V", 2, "Circle.area()I"), Explained::kCall);  // by an interface
  EXPECT_EQ(p.Edge("Main.main()V", 2, "Stranger.area()I"), Explained::kCall);
  EXPECT_EQ(p.Edge("Main.main()V", 3, "Circle.<init>()V"), Explained::kCall);
  EXPECT_EQ(p.Edge("Main.main()V", 9, "java/lang/Object.clone()Ljava/lang/Object;"), Explained::kCall);
}

TEST(Edges, AClassWithoutANameCallsItself) {
  Program p;
  for (const char* self :
       {"Main$$Lambda$1/123", "Main$$Lambda.0x12", "Main$$Lambda$1", "Main$$Lambda+0x12", "Main$$Lambda+0x13"}) {
    p.Class(self, "java/lang/Object");
    p.Method(self, "<init>", "()V", {{kNop}});
  }
  p.Method("Main$$Lambda$1/123", "get", "()V", {{kInvokespecial, "Main$$Lambda$1", "<init>", "()V"}});  // until 14
  p.Method(
      "Main$$Lambda.0x12", "get", "()V",
      {{kInvokespecial, "Main$$Lambda+0x12", "<init>", "()V"}, {kInvokespecial, "Main$$Lambda+0x13", "<init>", "()V"}});
  EXPECT_EQ(p.Edge("Main$$Lambda$1/123.get()V", 0, "Main$$Lambda$1/123.<init>()V"), Explained::kCall);
  EXPECT_EQ(p.Edge("Main$$Lambda.0x12.get()V", 0, "Main$$Lambda.0x12.<init>()V"), Explained::kCall);
  EXPECT_EQ(p.Edge("Main$$Lambda.0x12.get()V", 1, "Main$$Lambda.0x12.<init>()V"), Explained::kNothing);
  EXPECT_EQ(p.Edge("Main$$Lambda$1/123.get()V", 0, "Main$$Lambda.0x12.<init>()V"), Explained::kNothing);
}

TEST(Edges, AnInvokeOfAnotherMethodIsNone) {
  Shapes p;
  EXPECT_EQ(p.Edge("Main.main()V", 0, "Shape.area()I"), Explained::kNothing);     // another name
  EXPECT_EQ(p.Edge("Main.main()V", 1, "Stranger.area()I"), Explained::kNothing);  // no kin
  EXPECT_EQ(p.Edge("Main.main()V", 3, "Shape.<init>()V"), Explained::kNothing);   // constructors are not inherited
  EXPECT_EQ(p.Edge("Main.main()V", 5, "Main.help(I)V"), Explained::kNothing);     // no call at all
  EXPECT_EQ(p.Edge("Main.main()V", 4, "Main.help(I)V"), Explained::kNothing);     // new
}

TEST(Edges, WhatIsNotKnownOfAClassExcusesNothingElse) {
  Shapes p;
  p.Method("Nameless", "area", "()I", {{kNop}});  // a class of which nothing but this is known
  EXPECT_EQ(p.Edge("Main.main()V", 1, "Nameless.area()I"), Explained::kNothing) << "its super is known to be none";
  p.Class("Stranger", "Shape");  // a second class of the name, in another loader
  EXPECT_EQ(p.Edge("Main.main()V", 1, "Stranger.area()I"), Explained::kCall);
  EXPECT_EQ(p.Edge("Main.main()V", 0, "Stranger.area()I"), Explained::kNothing);
}

TEST(Edges, VmUpcallFires) {
  Shapes p;
  EXPECT_EQ(p.Edge("Main.main()V", 4, "Circle.<clinit>()V"), Explained::kUpcall);
  EXPECT_EQ(p.Edge("Main.main()V", 4, "Loader.loadClass(Ljava/lang/String;)Ljava/lang/Class;"), Explained::kUpcall);
  EXPECT_EQ(p.Edge("Main.main()V", 7, "java/lang/ArithmeticException.<init>(Ljava/lang/String;)V"), Explained::kUpcall);
  // A class is loaded for a compilation that a loop asks for, and for one that a call asks for.
  EXPECT_EQ(p.Edge("Main.main()V", 6, "Loader.loadClass(Ljava/lang/String;)Ljava/lang/Class;"), Explained::kUpcall);
  // The interpreter is at the branch's target when it asks for the loop's compilation.
  EXPECT_EQ(p.Edge("Main.loop()V", 3, "Loader.loadClass(Ljava/lang/String;)Ljava/lang/Class;"), Explained::kUpcall);
  EXPECT_EQ(p.Edge("Main.loop()V", 1, "Loader.loadClass(Ljava/lang/String;)Ljava/lang/Class;"), Explained::kUpcall);
  EXPECT_EQ(p.Edge("Main.help(I)V", 0, "Loader.loadClass(Ljava/lang/String;)Ljava/lang/Class;"), Explained::kUpcall);
  EXPECT_EQ(p.Edge("Main.help(I)V", -1, "Loader.loadClass(Ljava/lang/String;)Ljava/lang/Class;"), Explained::kUpcall);
  p.Method("jdk/internal/module/Modules", "transformedByAgent", "(Ljava/lang/Module;)V", {}, Shapes::Is::kStatic);
  const std::string reads = "jdk/internal/module/Modules.transformedByAgent(Ljava/lang/Module;)V";
  EXPECT_EQ(p.Edge("Main.main()V", 4, reads), Explained::kUpcall);
  EXPECT_EQ(p.Edge("Main.main()V", 5, reads), Explained::kNothing);
  p.Method("Indy", "run", "()V", {{kInvokedynamic, "", "get", "()V"}, {kLdc}, {kReturn}});
  EXPECT_EQ(p.Edge("Indy.run()V", 0, "java/lang/invoke/MethodHandleNatives.linkCallSite()V"), Explained::kUpcall);
  EXPECT_EQ(p.Edge("Indy.run()V", 2, "java/lang/ref/Finalizer.register(Ljava/lang/Object;)V"), Explained::kUpcall);
}

// What the VM calls at few places, and what stays impossible beside it.
TEST(Edges, RareUpcalls) {
  Shapes p;
  constexpr auto kStatic = Shapes::Is::kStatic;
  constexpr uint8_t kGotoItself = 3;
  p.Method("Rare", "run", "()V",
           {{kIload},
            {kIfAcmpeq},
            {kInvokevirtual, "jdk/internal/misc/Unsafe", "allocateInstance", "(Ljava/lang/Class;)Ljava/lang/Object;"},
            {kGoto, "", "", "", true, kGotoItself},
            {kInvokevirtual, "Mine", "allocateInstance", "(Ljava/lang/Class;)Ljava/lang/Object;"},
            {kInvokeinterface, "Area", "area", "()I"},
            {kNew}},
           kStatic);
  p.Method("java/lang/runtime/ValueObjectMethods", "isSubstitutable", "(Ljava/lang/Object;Ljava/lang/Object;)Z", {},
           kStatic);
  p.Method("java/lang/runtime/ValueObjectMethods", "<clinit>", "()V", {}, kStatic);
  p.Method("Mine", "getStackTrace", "()[Ljava/lang/StackTraceElement;", {});
  p.Method("jdk/internal/misc/Unsafe", "throwIllegalAccessError", "()V", {});
  p.Method("jdk/jfr/internal/JVMUpcalls", "onMethodTrace", "()V", {}, kStatic);
  const std::string load = "Loader.loadClass(Ljava/lang/String;)Ljava/lang/Class;";
  const std::string thrown = "java/lang/ArithmeticException.<init>(Ljava/lang/String;)V";
  const std::string clinit = "Circle.<clinit>()V";
  const std::string compare =
      "java/lang/runtime/ValueObjectMethods.isSubstitutable(Ljava/lang/Object;Ljava/lang/Object;)Z";
  const std::string compares = "java/lang/runtime/ValueObjectMethods.<clinit>()V";
  const std::string trace = "Mine.getStackTrace()[Ljava/lang/StackTraceElement;";
  const std::map<std::string, std::set<int32_t>> possible = {
      {load, {0, 2, 3, 4, 5, 6}},
      {thrown, {0, 2, 3, 4, 5, 6}},
      {clinit, {2, 6}},
      {compare, {1}},
      {compares, {1, 2, 6}},
      {trace, {2, 6}},
      {"jdk/internal/misc/Unsafe.throwIllegalAccessError()V", {0, 2, 3, 4, 5, 6}},
      {"jdk/jfr/internal/JVMUpcalls.onMethodTrace()V", {0, 2, 3, 4, 5, 6}}};
  for (const auto& [callee, sites] : possible) {
    for (int32_t at = 0; at < 7; at++) {
      const Explained expected = sites.contains(at) ? Explained::kUpcall : Explained::kNothing;
      EXPECT_EQ(p.Edge("Rare.run()V", at, callee), expected) << callee << " at " << at;
    }
  }
}

// A call of the superclass's method looks again below the class that is named.
TEST(Edges, InvokespecialSelectsBelow) {
  Shapes p;
  p.Class("Disc", "Circle");
  p.Method("Disc", "super", "()I", {{kInvokespecial, "Shape", "area", "()I"}, {kInvokestatic, "Shape", "area", "()I"}});
  EXPECT_EQ(p.Edge("Disc.super()I", 0, "Shape.area()I"), Explained::kCall);
  EXPECT_EQ(p.Edge("Disc.super()I", 0, "Circle.area()I"), Explained::kCall);
  EXPECT_EQ(p.Edge("Disc.super()I", 0, "Stranger.area()I"), Explained::kNothing);
  EXPECT_EQ(p.Edge("Disc.super()I", 1, "Circle.area()I"), Explained::kNothing);
}

TEST(Edges, VmUpcallHidesNoFault) {
  Shapes p;
  // An instruction that makes the VM call something else, or nothing.
  EXPECT_EQ(p.Edge("Main.main()V", 7, "Circle.<clinit>()V"), Explained::kNothing);
  EXPECT_EQ(p.Edge("Main.main()V", 5, "Circle.<clinit>()V"), Explained::kNothing);
  EXPECT_EQ(p.Edge("Main.main()V", 5, "Loader.loadClass(Ljava/lang/String;)Ljava/lang/Class;"), Explained::kNothing);
  EXPECT_EQ(p.Edge("Main.main()V", 6, "Circle.<clinit>()V"), Explained::kNothing);
  EXPECT_EQ(p.Edge("Main.main()V", 7, "java/lang/invoke/MethodHandleNatives.linkCallSite()V"), Explained::kNothing);
  EXPECT_EQ(p.Edge("Main.main()V", 7, "java/lang/ref/Finalizer.register(Ljava/lang/Object;)V"), Explained::kNothing);
  EXPECT_EQ(p.Edge("Main.help(I)V", 0, "Circle.<clinit>()V"), Explained::kNothing);
  EXPECT_EQ(p.Edge("Main.loop()V", 2, "Loader.loadClass(Ljava/lang/String;)Ljava/lang/Class;"), Explained::kNothing);
  EXPECT_EQ(p.Edge("Main.loop()V", 1, "Circle.<clinit>()V"), Explained::kNothing);
}

TEST(Edges, MethodHandles) {
  Shapes p;
  constexpr std::string_view kHandle = "java/lang/invoke/MethodHandle";
  p.Method("Form", "run", "()V",
           {{kInvokestatic, kHandle, "linkToStatic", "(Ljava/lang/Object;IJLjava/lang/invoke/MemberName;)I"},
            {kInvokestatic, kHandle, "linkToVirtual", "(Ljava/lang/Object;ILjava/lang/invoke/MemberName;)V"},
            {kInvokevirtual, kHandle, "invokeBasic", "(I)Ljava/lang/Object;"},
            {kInvokevirtual, kHandle, "invokeExact", "(I)V"},
            {kInvokedynamic, "", "get", "()V"},
            {kInvokevirtual, "java/lang/invoke/VarHandle", "compareAndSet", "(LT;II)Z"}});
  p.Method("T", "fits", "([Ljava/lang/String;SJ)Z", {}, Shapes::Is::kStatic);
  p.Method("T", "call", "(B)V", {});
  p.Method("T", "call0", "()V", {});
  p.Method("java/lang/invoke/LambdaForm$MH", "invoke", "(Ljava/lang/Object;I)Ljava/lang/Object;", {},
           Shapes::Is::kStatic);
  const std::string form = "java/lang/invoke/LambdaForm$MH.invoke(Ljava/lang/Object;I)Ljava/lang/Object;";
  // The rule fires.
  EXPECT_EQ(p.Edge("Form.run()V", 0, "T.fits([Ljava/lang/String;SJ)Z"), Explained::kMethodHandle);
  EXPECT_EQ(p.Edge("Form.run()V", 1, "T.call(B)V"), Explained::kMethodHandle);
  EXPECT_EQ(p.Edge("Form.run()V", 2, form), Explained::kMethodHandle);
  for (const int32_t site : {3, 4, 5}) EXPECT_EQ(p.Edge("Form.run()V", site, form), Explained::kMethodHandle);
  // It hides no fault: another shape, or no method of java.lang.invoke where there must be one.
  EXPECT_EQ(p.Edge("Form.run()V", 0, "T.call(B)V"), Explained::kNothing);
  EXPECT_EQ(p.Edge("Form.run()V", 1, "T.call0()V"), Explained::kNothing);
  EXPECT_EQ(p.Edge("Form.run()V", 1, "T.fits([Ljava/lang/String;SJ)Z"), Explained::kNothing);
  EXPECT_EQ(p.Edge("Form.run()V", 2, "T.call0()V"), Explained::kNothing);
  for (const int32_t site : {3, 4, 5}) EXPECT_EQ(p.Edge("Form.run()V", site, "T.call(B)V"), Explained::kNothing);
}

TEST(Edges, VarHandleGuardsMayDropAResult) {
  Shapes p;
  const std::vector<Instruction> calls = {{kInvokestatic, "java/lang/invoke/MethodHandle", "linkToStatic",
                                           "(Ljava/lang/Object;ILjava/lang/invoke/MemberName;)V"}};
  p.Method("java/lang/invoke/VarHandleGuards", "guard_LI_V", "()V", calls);
  p.Method("Form", "run", "()V", calls);
  p.Method("T", "getAndAdd", "(LT;I)I", {}, Shapes::Is::kStatic);
  p.Method("T", "other", "(LT;J)I", {}, Shapes::Is::kStatic);
  const std::string guard = "java/lang/invoke/VarHandleGuards.guard_LI_V()V";
  EXPECT_EQ(p.Edge(guard, 0, "T.getAndAdd(LT;I)I"), Explained::kMethodHandle);
  EXPECT_EQ(p.Edge(guard, 0, "T.other(LT;J)I"), Explained::kNothing) << "other arguments";
  EXPECT_EQ(p.Edge("Form.run()V", 0, "T.getAndAdd(LT;I)I"), Explained::kNothing) << "no guard";
}

Verdict Check(const std::vector<Frame>& frames) {
  EdgeCounts counts;
  const Verdict v = CheckEdges(frames, &counts);
  uint32_t sum = 0;
  for (const uint32_t n : counts.of) sum += n;
  EXPECT_EQ(sum, frames.empty() ? 0 : frames.size() - 1);
  return v;
}

TEST(Edges, NativeCallerFiresAndHidesNoFaultElsewhere) {
  Shapes p;
  const Frame top = p.Frame("Shape.area()I", 0);
  const Frame native = p.Frame("Natives.call()V", -3);
  EXPECT_EQ(Check({top, native}).rule, Rule::kNativeCaller);
  EXPECT_EQ(Check({native, p.Frame("Main.main()V", 1)}).kind, Kind::kImpossibleEdge);
  EXPECT_EQ(Check({top, native, p.Frame("Main.main()V", 1)}).kind, Kind::kImpossibleEdge);
}

TEST(Edges, EachEdgeOfATraceHasItsOwnVerdict) {
  Shapes p;
  EdgeCounts counts;
  const std::vector<Frame> frames = {p.Frame("Shape.area()I", 0), p.Frame("Natives.call()V", -3),
                                     p.Frame("Main.main()V", 1)};
  CheckEdges(frames, &counts);
  EXPECT_EQ(counts.of[static_cast<size_t>(Explained::kNativeCaller)], 1U);
  EXPECT_EQ(counts.of[static_cast<size_t>(Explained::kNothing)], 1U);
  EXPECT_EQ(VerdictOn(Explained::kCall, 0).outcome, Outcome::kMatch);
  EXPECT_EQ(VerdictOn(Explained::kNativeCaller, 0).rule, Rule::kNativeCaller);
  EXPECT_EQ(VerdictOn(Explained::kUnknown, 0).reason, Reason::kUnknownMethod);
  EXPECT_EQ(VerdictOn(Explained::kNothing, 4).divergence, 4U);
}

TEST(Edges, RetransformedFiresAndHidesNoFaultElsewhere) {
  Shapes p;
  p.table_.Redefine("Main");
  EXPECT_EQ(Check({p.Frame("Shape.area()I"), p.Frame("Main.main()V", 5)}).rule, Rule::kRetransformed);
  const Verdict v = Check({p.Frame("Shape.area()I"), p.Frame("Main.main()V", 5), p.Frame("Circle.area()I", 1)});
  EXPECT_EQ(v.kind, Kind::kImpossibleEdge);
  EXPECT_EQ(v.divergence, 1u);
}

TEST(Edges, AnObsoleteVersionIsOneOfARedefinedClass) {
  Shapes p;
  p.table_.PublishObsolete("Main", {4711, "main", "()V", false});
  const Frame obsolete = {.method = 4711, .bci = 0, .info = p.table_.Find(4711)};
  EXPECT_EQ(Check({p.Frame("Shape.area()I"), obsolete}).reason, Reason::kUnknownMethod);
  p.table_.Redefine("Main");
  EXPECT_EQ(Check({p.Frame("Shape.area()I"), obsolete}).rule, Rule::kRetransformed);
  EXPECT_EQ(Check({p.Frame("Shape.area()I"), obsolete, p.Frame("Circle.area()I", 1)}).kind, Kind::kImpossibleEdge);
}

TEST(Edges, UnknownFramesProveNothingButHideNothing) {
  Shapes p;
  const Frame unknown = {.method = 4711, .bci = 3};
  EXPECT_EQ(Check({unknown, p.Frame("Main.main()V", 0)}).reason, Reason::kUnknownMethod);
  EXPECT_EQ(Check({unknown, p.Frame("Shape.area()I", 0), p.Frame("Main.main()V", 0)}).kind, Kind::kImpossibleEdge);
}

TEST(Edges, ATraceIsAsGoodAsItsWeakestEdge) {
  Shapes p;
  EXPECT_EQ(Check({}).outcome, Outcome::kMatch);
  EXPECT_EQ(Check({p.Frame("Main.main()V", 5)}).outcome, Outcome::kMatch);
  EXPECT_EQ(Check({p.Frame("Main.help(I)V", 0), p.Frame("Main.help(I)V", 1), p.Frame("Main.main()V", 0)}).outcome,
            Outcome::kMatch);
  EXPECT_EQ(Check({p.Frame("Circle.<clinit>()V"), p.Frame("Main.main()V", 4), p.Frame("Natives.call()V", -1)}).rule,
            Rule::kNativeCaller);
}

// What a walker may get wrong, on a stack of five frames.
class Fault : public testing::Test {
 protected:
  Shapes p;
  const std::vector<Frame> good = {p.Frame("Circle.<clinit>()V", 0), p.Frame("Circle.area()I", 1),
                                   p.Frame("Main.help(I)V", 2), p.Frame("Main.help(I)V", 1),
                                   p.Frame("Main.main()V", 0)};

  static void ExpectImpossible(const std::vector<Frame>& frames, uint32_t at) {
    const Verdict v = Check(frames);
    EXPECT_EQ(v.kind, Kind::kImpossibleEdge);
    EXPECT_EQ(v.divergence, at);
  }
};

TEST_F(Fault, None) { EXPECT_EQ(Check(good).rule, Rule::kVmUpcall); }

TEST_F(Fault, DuplicatedFrame) { ExpectImpossible({good[0], good[1], good[1], good[2], good[3], good[4]}, 4); }

TEST_F(Fault, SwappedFrames) { ExpectImpossible({good[0], good[2], good[1], good[3], good[4]}, 2); }

TEST_F(Fault, ReplacedFrame) {
  ExpectImpossible({good[0], good[1], p.Frame("Stranger.area()I", 1), good[3], good[4]}, 2);
}

TEST_F(Fault, FrameDroppedInTheMiddle) { ExpectImpossible({good[0], good[2], good[3], good[4]}, 3); }

TEST_F(Fault, WrongBci) { ExpectImpossible({good[0], good[1], p.Frame("Main.help(I)V", 0), good[3], good[4]}, 3); }

TEST_F(Fault, ForeignFramesBelow) {
  ExpectImpossible({good[0], good[1], good[2], good[3], p.Frame("Stranger.area()I", 1)}, 1);
}

// The faults that no edge can see: other checks are there for them.
TEST_F(Fault, NoEdgeSeesTheseFaults) {
  const auto unseen = [](const std::vector<Frame>& frames) { return Check(frames).outcome != Outcome::kMismatch; };
  EXPECT_TRUE(unseen({good[0], good[1], good[2], good[3]})) << "cut off at the bottom";
  EXPECT_TRUE(unseen({good[1], good[2], good[3], good[4]})) << "the top frame is missing";
  EXPECT_TRUE(unseen({good[0], good[1], good[2], good[3], good[3], good[4]})) << "doubled within a recursion";
  EXPECT_TRUE(unseen({good[0], good[1], good[2], good[4]})) << "dropped from a recursion";
  EXPECT_TRUE(unseen({good[0], p.Frame("Shape.area()I", 1), good[2], good[3], good[4]})) << "another override";
}

}  // namespace
}  // namespace misstep
