#include "bytecode.h"

namespace misstep {
namespace {

// Tags of constant pool entries (JVMS 4.4).
enum Tag : uint8_t {
  kUtf8 = 1,
  kLong = 5,
  kDouble = 6,
  kClass = 7,
  kMethodref = 10,
  kInterfaceMethodref = 11,
  kNameAndType = 12,
  kInvokeDynamicTag = 18,
};

// Bytes of an entry behind its tag, 0 for Utf8 and unknown tags.
uint32_t EntrySize(uint8_t tag) {
  switch (tag) {
    case 3:   // Integer
    case 4:   // Float
    case 9:   // Fieldref
    case 10:  // Methodref
    case 11:  // InterfaceMethodref
    case 12:  // NameAndType
    case 17:  // Dynamic
    case 18:  // InvokeDynamic
      return 4;
    case kLong:
    case kDouble:
      return 8;
    case 7:   // Class
    case 8:   // String
    case 16:  // MethodType
    case 19:  // Module
    case 20:  // Package
      return 2;
    case 15:  // MethodHandle
      return 3;
    default:
      return 0;
  }
}

// Lengths of the instructions by opcode (JVMS 6.5). 0: variable, or no instruction of a class file.
constexpr uint8_t kLengths[256] = {
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,  // 0 nop .. 15 dconst_1
    2, 3, 2, 3, 3, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1,  // 16 bipush .. 31 lload_1
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,  // 32 lload_2 .. 47 laload
    1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1,  // 48 faload .. 63 lstore_0
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,  // 64 lstore_1 .. 79 iastore
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,  // 80 lastore .. 95 swap
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,  // 96 iadd .. 111 ddiv
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,  // 112 irem .. 127 land
    1, 1, 1, 1, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,  // 128 ior .. 143 d2l (132 iinc)
    1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 3, 3, 3, 3,  // 144 d2f .. 159 if_icmpeq
    3, 3, 3, 3, 3, 3, 3, 3, 3, 2, 0, 0, 1, 1, 1, 1,  // 160 if_icmpne .. 175 dreturn (169 ret)
    1, 1, 3, 3, 3, 3, 3, 3, 3, 5, 5, 3, 2, 3, 1, 1,  // 176 areturn .. 191 athrow
    3, 3, 1, 1, 0, 4, 3, 3, 5, 5,                    // 192 checkcast .. 201 jsr_w
};

bool Interesting(uint8_t opcode) {
  return (opcode >= kLdc && opcode <= kLdc2W) || (opcode >= kIaload && opcode <= kSaload) ||
         (opcode >= kIastore && opcode <= kSastore) || opcode == kIdiv || opcode == kLdiv || opcode == kIrem ||
         opcode == kLrem || opcode == kIfAcmpeq || opcode == kIfAcmpne ||
         (opcode >= kIreturn && opcode <= kMonitorexit) || opcode == kMultianewarray;
}

bool Invoke(uint8_t opcode) { return opcode >= kInvokevirtual && opcode <= kInvokedynamic; }

class Code {
 public:
  explicit Code(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  bool Has(size_t at, size_t n) const { return at <= bytes_.size() && bytes_.size() - at >= n; }
  uint8_t U1(size_t at) const { return bytes_[at]; }
  int32_t S2(size_t at) const { return static_cast<int16_t>(bytes_[at] << 8 | bytes_[at + 1]); }
  int32_t S4(size_t at) const {
    return static_cast<int32_t>(static_cast<uint32_t>(bytes_[at]) << 24 | static_cast<uint32_t>(bytes_[at + 1]) << 16 |
                                static_cast<uint32_t>(bytes_[at + 2]) << 8 | bytes_[at + 3]);
  }

  // Length of the switch at bci and its lowest offset; 0 when it is malformed.
  size_t Switch(size_t bci, int32_t* lowest) const {
    const bool table = U1(bci) == kTableswitch;
    size_t at = (bci + 4) & ~size_t{3};  // operands are aligned
    if (!Has(at, table ? 12 : 8)) return 0;
    *lowest = S4(at);
    int64_t entries = S4(at + 4);
    size_t each = 8;
    at += 8;
    if (table) {
      entries = int64_t{S4(at)} - entries + 1;
      each = 4;
      at += 4;
    }
    if (entries < 0 || entries > 0x10000 || !Has(at, static_cast<size_t>(entries) * each)) return 0;
    for (int64_t i = 0; i < entries; i++, at += each) *lowest = std::min(*lowest, S4(at + each - 4));
    return at - bci;
  }

 private:
  std::span<const uint8_t> bytes_;
};

}  // namespace

bool HasPatchedPool(std::string_view class_name) {
  const size_t slash = class_name.rfind('/');
  if (slash == std::string_view::npos || slash + 1 == class_name.size()) return false;
  const char first = class_name[slash + 1];
  return first >= '0' && first <= '9';
}

ConstantPool::ConstantPool(std::span<const uint8_t> bytes, uint32_t count) : bytes_(bytes) {
  if (count > 0x10000) count = 0x10000;
  offsets_.assign(count, 0);
  size_t at = 0;
  for (uint32_t i = 1; i < count && at < bytes.size(); i++) {
    const uint8_t tag = bytes[at];
    size_t size = EntrySize(tag);
    if (tag == kUtf8) {
      if (bytes.size() - at < 3) return;
      size = 2 + U2(static_cast<uint32_t>(at) + 1);
    }
    if (size == 0 || bytes.size() - at - 1 < size) return;
    offsets_[i] = static_cast<uint32_t>(at) + 1;
    at += 1 + size;
    if (tag == kLong || tag == kDouble) i++;  // these take two indices (JVMS 4.4.5)
  }
}

uint8_t ConstantPool::Tag(uint32_t index, uint32_t* at) const {
  if (index >= offsets_.size() || offsets_[index] == 0) return 0;
  *at = offsets_[index];
  return bytes_[*at - 1];
}

bool ConstantPool::Utf8(uint32_t index, std::string_view* text) const {
  uint32_t at = 0;
  if (Tag(index, &at) != kUtf8) return false;
  *text = std::string_view(reinterpret_cast<const char*>(bytes_.data()) + at + 2, U2(at));
  return true;
}

bool ConstantPool::CallAt(uint32_t index, CallRef* call) const {
  uint32_t at = 0;
  const uint8_t tag = Tag(index, &at);
  if (tag != kMethodref && tag != kInterfaceMethodref && tag != kInvokeDynamicTag) return false;
  call->owner = {};
  uint32_t other = 0;
  if (tag != kInvokeDynamicTag && (Tag(U2(at), &other) != kClass || !Utf8(U2(other), &call->owner))) return false;
  return Tag(U2(at + 2), &other) == kNameAndType && Utf8(U2(other), &call->name) &&
         Utf8(U2(other + 2), &call->descriptor);
}

bool ScanCode(std::span<const uint8_t> bytes, std::vector<RawSite>* sites) {
  if (bytes.size() > 0xffff) return false;  // JVMS 4.7.3
  const Code code(bytes);
  for (size_t bci = 0; bci < bytes.size();) {
    const uint8_t opcode = code.U1(bci);
    RawSite site = {.bci = static_cast<uint16_t>(bci), .opcode = opcode};
    size_t length = kLengths[opcode];
    int32_t branch = 1;  // forward
    if (opcode == kTableswitch || opcode == kLookupswitch) {
      length = code.Switch(bci, &branch);
    } else if (opcode == kWide && code.Has(bci, 2)) {
      length = code.U1(bci + 1) == 132 ? 6 : 4;  // iinc
    }
    if (length == 0 || !code.Has(bci, length)) return false;
    if ((opcode >= kIfeq && opcode <= kJsr) || opcode == kIfnull || opcode == kIfnonnull) {
      branch = code.S2(bci + 1);
    } else if (opcode == kGotoW || opcode == kJsrW) {
      branch = code.S4(bci + 1);
    } else if (Invoke(opcode)) {
      site.call = static_cast<uint16_t>(code.S2(bci + 1));
    }
    if (branch <= 0) {
      site.back = true;
      site.back_to = static_cast<uint16_t>(std::max<int64_t>(static_cast<int64_t>(bci) + branch, 0));
    }
    // A subroutine of an old class file returns to behind any jsr (JVMS 6.5 ret): to anywhere.
    if (opcode == kRet || (opcode == kWide && code.Has(bci, 2) && code.U1(bci + 1) == kRet)) site.back = true;
    // The interpreter makes one of both and throws for the array at the bci of the first (TemplateTable::fast_icaload).
    const bool fused = opcode == kIload && code.Has(bci, 3) && code.U1(bci + 2) == kCaload;
    if (site.back || fused || Interesting(opcode)) sites->push_back(site);
    bci += length;
  }
  return true;
}

}  // namespace misstep
