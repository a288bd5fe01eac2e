// A reader for constant pools and bytecode as JVMTI returns them (GetConstantPool, GetBytecodes; JVMS chapters 4 and
// 6): at which instructions of a method something can be called, and what. Needs no JVM and trusts nothing in its
// input.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace misstep {

// The method that an invoke instruction names. The views point into the constant pool's bytes.
struct CallRef {
  std::string_view owner;  // internal name of the class, "[I" and the like for arrays, empty for invokedynamic
  std::string_view name;
  std::string_view descriptor;
};

class ConstantPool {
 public:
  // Reads the entries 1 to count - 1 of a class file's constant pool. A malformed entry and all after it are missing.
  ConstantPool(std::span<const uint8_t> bytes, uint32_t count);
  // Reads the Methodref, InterfaceMethodref or InvokeDynamic at index. Returns false if it is none of them.
  bool CallAt(uint32_t index, CallRef* call) const;

 private:
  // The tag of an entry, 0 if there is none; *at is where its contents begin.
  uint8_t Tag(uint32_t index, uint32_t* at) const;
  uint32_t U2(uint32_t at) const { return static_cast<uint32_t>(bytes_[at]) << 8 | bytes_[at + 1]; }
  bool Utf8(uint32_t index, std::string_view* text) const;

  std::span<const uint8_t> bytes_;
  std::vector<uint32_t> offsets_;  // of each entry's contents, right after its tag; 0 where there is no entry
};

// Whether a class has the name of an anonymous class of the VM, "java/lang/invoke/LambdaForm$MH/1706377071" or, from 11
// to 14, ".../0x0000000800066840". Once such a class is linked, its constant pool has objects in place of strings, on
// which JVMTI GetConstantPool crashes: it may be asked for in the ClassPrepare event only (HotSpot 8 constantPool.cpp:
// patch_resolved_references, copy_cpool_bytes).
bool HasPatchedPool(std::string_view class_name);

// An instruction at which a frame can be seen below another one.
struct RawSite {
  uint16_t bci = 0;
  uint8_t opcode = 0;
  bool back = false;     // a branch that may go back
  uint16_t back_to = 0;  // the lowest bci that a branch back may go to
  uint16_t call = 0;     // constant pool index of the method that an invoke names, else 0
};

// Lists the instructions of a method that may call, resolve, throw, return or branch back, ordered by bci. Returns
// false if the code is malformed; the sites before that place are kept.
bool ScanCode(std::span<const uint8_t> code, std::vector<RawSite>* sites);

// The opcodes that edges refers to (JVMS 6.5).
enum Opcode : uint8_t {
  kLdc = 18,
  kLdcW = 19,
  kLdc2W = 20,
  kIload = 21,
  kIaload = 46,
  kCaload = 52,
  kSaload = 53,
  kIastore = 79,
  kSastore = 86,
  kIdiv = 108,
  kLdiv = 109,
  kIrem = 112,
  kLrem = 113,
  kIfeq = 153,
  kIfAcmpeq = 165,
  kIfAcmpne = 166,
  kJsr = 168,
  kRet = 169,
  kTableswitch = 170,
  kLookupswitch = 171,
  kIreturn = 172,
  kReturn = 177,
  kGetstatic = 178,
  kPutstatic = 179,
  kGetfield = 180,
  kPutfield = 181,
  kInvokevirtual = 182,
  kInvokespecial = 183,
  kInvokestatic = 184,
  kInvokeinterface = 185,
  kInvokedynamic = 186,
  kNew = 187,
  kNewarray = 188,
  kAnewarray = 189,
  kArraylength = 190,
  kAthrow = 191,
  kCheckcast = 192,
  kInstanceof = 193,
  kMonitorenter = 194,
  kMonitorexit = 195,
  kWide = 196,
  kMultianewarray = 197,
  kIfnull = 198,
  kIfnonnull = 199,
  kGotoW = 200,
  kJsrW = 201,
};

}  // namespace misstep
