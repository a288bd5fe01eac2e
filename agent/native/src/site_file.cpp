#include "site_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <map>

#include "log.h"

namespace misstep {

// Values, one after the other (abi.h).
class SiteFile::Bytes {
 public:
  void Unsigned(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }
  void Raw(std::string_view bytes) { bytes_.append(bytes); }
  std::string_view view() const { return bytes_; }

 private:
  std::string bytes_;
};

namespace {

// What stands at one bci: the occasions of the instruction, and for an invoke its constant and opcode.
struct Place {
  Occasions occasions = 0;
  uint16_t call = 0;
  uint8_t opcode = 0;
};

std::map<uint16_t, Place> PlacesOf(const ConstantPool& pool, std::span<const RawSite> sites) {
  std::map<uint16_t, Place> places;
  places[0].occasions = kCompiling;
  for (const RawSite& site : sites) {
    Place& place = places[site.bci];
    CallRef call;
    if (site.call != 0) pool.CallAt(site.call, &call);
    place.occasions |= OccasionsAt(site.opcode, call.owner, call.name);
    place.call = site.call;
    place.opcode = site.opcode;
    if (!site.back) continue;
    place.occasions |= kCompiling;
    places[site.back_to].occasions |= kCompiling;
  }
  return places;
}

}  // namespace

std::string SiteFile::Create(const std::string& path) {
  const WriteLock lock(mutex_);
  fd_ = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd_ < 0) return "cannot create " + path + ": " + std::strerror(errno);
  const uint64_t magic = MISSTEP_SITES_MAGIC;
  pending_.assign(reinterpret_cast<const char*>(&magic), sizeof(magic));
  Write();
  on_ = fd_ >= 0;
  return on_ ? "" : "cannot write " + path;
}

void SiteFile::Class(std::string_view name, const ClassFacts& facts, std::span<const PreparedMethod> methods) {
  const WriteLock lock(mutex_);
  if (fd_ < 0) return;
  Bytes out;
  out.Unsigned(Number(name));
  out.Unsigned(Number(facts.super));
  out.Unsigned(facts.interface ? MISSTEP_SITES_INTERFACE : 0);
  std::unordered_map<uint16_t, uint32_t> targets;
  Targets(&out, name, *facts.pool, methods, &targets);
  out.Unsigned(methods.size());
  for (const PreparedMethod& m : methods) {
    out.Unsigned(Number(m.name));
    out.Unsigned(Number(m.descriptor));
    out.Unsigned((m.native ? MISSTEP_SITES_NATIVE : 0u) | (m.is_static ? MISSTEP_SITES_STATIC : 0u) |
                 (m.sites.empty() ? 0u : MISSTEP_SITES_CODE));
    out.Unsigned(OccasionsOf(UpcallOf(name, m.name, m.descriptor), name, m.name, m.descriptor));
    if (m.sites.empty()) continue;
    const auto places = PlacesOf(*facts.pool, m.sites);
    out.Unsigned(places.size());
    uint16_t before = 0;
    for (const auto& [bci, place] : places) {
      out.Unsigned(static_cast<uint16_t>(bci - before));
      before = bci;
      out.Unsigned(place.call != 0 ? place.occasions | MISSTEP_SITES_CALLS : place.occasions);
      if (place.call == 0) continue;
      out.Unsigned(place.opcode);
      out.Unsigned(targets[place.call]);
    }
  }
  if (written_.insert(std::hash<std::string_view>()(out.view())).second) Append(MISSTEP_SITES_CLASS, out.view());
  Write();
}

void SiteFile::Targets(Bytes* out, std::string_view self, const ConstantPool& pool,
                       std::span<const PreparedMethod> methods, std::unordered_map<uint16_t, uint32_t>* numbers) {
  Bytes all;
  uint32_t count = 0;
  for (const PreparedMethod& m : methods) {
    for (const RawSite& site : m.sites) {
      if (site.call == 0 || !numbers->emplace(site.call, 0).second) continue;
      CallRef call;
      bool polymorphic = false;
      if (!ReadCall(pool, site.call, self, &call, &polymorphic)) continue;
      all.Unsigned(Number(call.owner));
      all.Unsigned(Number(call.name));
      all.Unsigned(Number(call.descriptor));
      all.Unsigned(polymorphic ? MISSTEP_SITES_POLYMORPHIC : 0);
      (*numbers)[site.call] = ++count;
    }
  }
  out->Unsigned(count);
  out->Raw(all.view());
}

uint32_t SiteFile::Redefined(std::string_view name) {
  const WriteLock lock(mutex_);
  const uint32_t times = ++redefined_[std::string(name)];
  if (times > 1 || fd_ < 0) return times;
  Bytes out;
  out.Unsigned(Number(name));
  Append(MISSTEP_SITES_REDEFINED, out.view());
  Write();
  return times;
}

std::vector<std::string> SiteFile::RedefinedAtMost(uint32_t times) const {
  const ReadLock lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, redefined] : redefined_) {
    if (redefined <= times) names.push_back(name);
  }
  return names;
}

uint32_t SiteFile::Number(std::string_view text) {
  if (text.empty()) return 0;
  const auto [it, fresh] = numbers_.emplace(text, static_cast<uint32_t>(numbers_.size()) + 1);
  if (fresh) Append(MISSTEP_SITES_STRING, text);
  return it->second;
}

void SiteFile::Append(uint8_t tag, std::string_view payload) {
  Bytes size;
  size.Unsigned(payload.size());
  pending_.push_back(static_cast<char>(tag));
  pending_.append(size.view()).append(payload);
}

void SiteFile::Write() {
  constexpr uint64_t kEnd = 2;  // bytes of the last record
  std::string error;
  if (size_ + pending_.size() + kEnd > MISSTEP_SITES_MOST_BYTES) {
    pending_.clear();
    Append(MISSTEP_SITES_END, "");
    error = "it is full";
  }
  for (size_t done = 0; done < pending_.size();) {
    const ssize_t n = write(fd_, pending_.data() + done, pending_.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      error = std::strerror(errno);
      break;
    }
    done += static_cast<size_t>(n);
  }
  size_ += pending_.size();
  pending_.clear();
  if (error.empty()) return;
  close(fd_);
  fd_ = -1;
  if (on_) Log("sites.bin lacks all classes from now on: " + error);
}

}  // namespace misstep
