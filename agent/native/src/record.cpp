#include "record.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace misstep {
namespace {

constexpr uint32_t kMostMoments = 16;  // records of one boundary
constexpr uint64_t kMostSaved = 48;    // bytes: the six registers that a function saves for its caller

// 20 digits and two quotes.
constexpr size_t kCountWidth = 22;

std::string PaddedCount(uint64_t count) {
  std::string s = "\"" + std::to_string(count) + "\"";
  s.resize(kCountWidth, ' ');
  return s;
}

// Length of the UTF-8 sequence at text[at], 0 when it is none.
size_t Utf8Length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[at + i]); };
  const uint8_t first = byte(0);
  size_t length = 0;
  uint32_t value = 0;
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) {
    length = 2;
    value = first & 0x1f;
  } else if (first >= 0xe0 && first <= 0xef) {
    length = 3;
    value = first & 0x0f;
  } else if (first >= 0xf0 && first <= 0xf4) {
    length = 4;
    value = first & 0x07;
  } else {
    return 0;
  }
  if (at + length > text.size()) return 0;
  for (size_t i = 1; i < length; i++) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    value = value << 6 | (byte(i) & 0x3f);
  }
  if (length == 3 && (value < 0x800 || (value >= 0xd800 && value <= 0xdfff))) return 0;
  if (length == 4 && (value < 0x10000 || value > 0x10ffff)) return 0;
  return length;
}

void AppendBase64(std::string* out, std::span<const uint8_t> bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t n = std::min<size_t>(3, bytes.size() - i);
    uint32_t v = static_cast<uint32_t>(bytes[i]) << 16;
    if (n > 1) v |= static_cast<uint32_t>(bytes[i + 1]) << 8;
    if (n > 2) v |= bytes[i + 2];
    out->push_back(kDigits[v >> 18]);
    out->push_back(kDigits[v >> 12 & 63]);
    out->push_back(n > 1 ? kDigits[v >> 6 & 63] : '=');
    out->push_back(n > 2 ? kDigits[v & 63] : '=');
  }
}

// The beginning of a frame, up to where a further field or the brace follows.
void AppendMethod(std::string* out, const MethodName& method) {
  out->append("{\"className\":");
  AppendJson(out, WithDots(method.class_name));
  out->append(",\"method\":");
  AppendJson(out, method.name);
  out->append(",\"descriptor\":");
  AppendJson(out, method.descriptor);
}

void AppendTrace(std::string* out, const NamedTrace& trace) {
  out->append("{\"source\":");
  AppendJson(out, trace.source);
  out->append(",\"frames\":[");
  bool first = true;
  for (const NamedFrame& f : trace.frames) {
    if (!first) out->push_back(',');
    first = false;
    AppendMethod(out, f.method);
    out->append(",\"bci\":").append(std::to_string(f.bci)).append("}");
  }
  out->append("],\"numFrames\":").append(std::to_string(trace.num_frames)).append("}");
}

}  // namespace

std::string WithDots(std::string_view class_name) {
  std::string s(class_name);
  std::replace(s.begin(), s.end(), '/', '.');
  return s;
}

void AppendJson(std::string* out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out->push_back('"');
  for (size_t i = 0; i < text.size();) {
    const uint8_t c = static_cast<uint8_t>(text[i]);
    const size_t length = Utf8Length(text, i);
    if (length == 0) {
      out->push_back('?');
      i++;
    } else if (c == '"' || c == '\\') {
      out->push_back('\\');
      out->push_back(static_cast<char>(c));
      i++;
    } else if (c < 0x20) {
      out->append("\\u00");
      out->push_back(kHex[c >> 4]);
      out->push_back(kHex[c & 15]);
      i++;
    } else {
      out->append(text.substr(i, length));
      i += length;
    }
  }
  out->push_back('"');
}

std::string MismatchLine(const Mismatch& m, size_t* count_at) {
  std::string s;
  s.append("{\"check\":");
  AppendJson(&s, kCheckNames[static_cast<int>(m.check)]);
  s.append(",\"kind\":");
  AppendJson(&s, kKindNames[static_cast<int>(m.verdict.kind)]);
  s.append(",\"reference\":");
  AppendTrace(&s, m.reference);
  s.append(",\"suspect\":");
  AppendTrace(&s, m.suspect);
  s.append(",\"divergence\":").append(std::to_string(m.verdict.divergence));
  s.append(",\"thread\":");
  const Place& p = m.place;
  const Spot& spot = p.spot;
  AppendJson(&s, p.thread);
  s.append(",\"tid\":\"").append(std::to_string(p.tid));
  s.append("\",\"sequence\":\"").append(std::to_string(p.sequence));
  s.append("\",\"pc\":\"").append(std::to_string(spot.pc));
  s.append("\",\"sp\":\"").append(std::to_string(spot.sp));
  s.append("\",\"fp\":\"").append(std::to_string(spot.fp));
  s.append("\",\"returnAt\":\"").append(std::to_string(spot.next_code.at));
  s.append("\",\"code\":\"");
  AppendBase64(&s, spot.Code());
  s.append("\",\"topState\":");
  AppendJson(&s, p.top_state);
  if (m.deoptimised_caller) {
    s.append(",\"deoptimisedCaller\":");
    AppendMethod(&s, *m.deoptimised_caller);
    s.append("}");
  }
  if (m.top_call) {
    s.append(",\"topCall\":");
    AppendMethod(&s, *m.top_call);
    s.append("}");
  }
  if (!m.return_state.empty()) {
    s.append(",\"returnState\":");
    AppendJson(&s, m.return_state);
    s.append(",\"returnCode\":\"");
    AppendBase64(&s, spot.ReturnCode());
    s.append("\",\"returnCopied\":").append(spot.original != 0 ? "true" : "false");
  }
  if (!m.stack.empty()) {
    s.append(",\"stack\":[");
    for (const NamedWord& w : m.stack) {
      s.append(&w == m.stack.data() ? "" : ",")
          .append("{\"at\":\"")
          .append(std::to_string(w.at))
          .append("\",\"code\":");
      AppendJson(&s, w.code);
      s.append("}");
    }
    s.append("]");
  }
  s.append(",\"count\":");
  *count_at = s.size();
  s.append(PaddedCount(m.count)).append("}\n");
  return s;
}

std::string Boundary(const Mismatch& m) {
  std::string s = kCheckNames[static_cast<int>(m.check)];
  s.append("|").append(kKindNames[static_cast<int>(m.verdict.kind)]);
  const auto add = [&](const NamedTrace& trace, int64_t from_bottom) {
    s.append("|");
    const auto n = static_cast<int64_t>(trace.frames.size());
    if (from_bottom < 0 || from_bottom >= n) return;
    const MethodName& name = trace.frames[static_cast<size_t>(n - 1 - from_bottom)].method;
    s.append(name.class_name).append(".").append(name.name).append(name.descriptor);
  };
  const auto at = static_cast<int64_t>(m.verdict.divergence);
  add(m.reference, at);
  add(m.reference, at - 1);
  if (m.verdict.kind != Kind::kTruncated) add(m.suspect, at);
  if (m.deoptimised_caller) s.append("|deoptimised");
  return s;
}

std::string Moment(const Mismatch& m) {
  const Spot& spot = m.place.spot;
  std::string s(m.place.top_state);
  constexpr size_t kMostReturnCode = 64;  // what tells places apart; what is further on may be patched
  const auto returns = spot.ReturnCode();
  for (const auto code : {spot.Code(), returns.first(std::min(returns.size(), kMostReturnCode))}) {
    s.append("|").append(code.begin(), code.end());
  }
  s.append("|").append(m.return_state).append(spot.original != 0 ? "|copied" : "");
  // What stands between the stack's end and the next return address: nothing but saved registers, variables, or no such
  // address; and whether the frame pointer is of that frame.
  if (const uint64_t at = spot.next_code.at; at != 0) {
    s.append(at - spot.sp <= kMostSaved ? "|bare" : "|frame");
    s.append(spot.fp < spot.sp || spot.fp > at ? "|elsewhere" : "");
  }
  if (m.top_call) s.append("|").append(m.top_call->class_name).append(".").append(m.top_call->name);
  return s;
}

std::string Recorder::Open(const std::string& path, uint32_t most, bool every) {
  const WriteLock lock(mutex_);
  most_ = most;
  every_ = every;
  // Not O_APPEND: with it pwrite() would append too. Nobody else writes this file.
  fd_ = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd_ < 0) return "cannot create " + path + ": " + std::strerror(errno);
  return "";
}

std::string Recorder::Report(const Mismatch& m) {
  const std::string boundary = Boundary(m);
  std::string key = boundary + "|" + Moment(m);
  const WriteLock lock(mutex_);
  if (fd_ < 0) return "";
  auto like = written_.find(key);
  if (like == written_.end()) {
    const auto moments = moments_.find(boundary);
    if (moments != moments_.end() && moments->second.number >= kMostMoments) like = written_.find(moments->second.last);
  }
  const bool room = records_ < most_;
  if (like != written_.end() && !(every_ && room)) {
    const std::string count = PaddedCount(like->second.count += m.count);
    [[maybe_unused]] const ssize_t n =
        pwrite(fd_, count.data(), count.size(), static_cast<off_t>(like->second.count_at));
    return "";
  }
  if (!room) return Lost("there are as many records as max-mismatches allows");
  size_t count_at = 0;
  const std::string line = MismatchLine(m, &count_at);
  size_t done = 0;
  while (done < line.size()) {
    const ssize_t n = pwrite(fd_, line.data() + done, line.size() - done, static_cast<off_t>(size_ + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const std::string why = n < 0 ? std::strerror(errno) : "nothing was written";
      // A full disk: take the half line back, so that the file stays whole lines.
      [[maybe_unused]] const int cut = ftruncate(fd_, static_cast<off_t>(size_));
      return Lost("mismatches.jsonl: " + why);
    }
    done += static_cast<size_t>(n);
  }
  if (like == written_.end()) {
    Moments& moments = moments_[boundary];
    moments = {moments.number + 1, key};
  }
  written_[std::move(key)] = Written{size_ + count_at, m.count};
  records_++;
  size_ += line.size();
  return "";
}

std::string Recorder::Lost(const std::string& why) {
  if (std::exchange(lost_, true)) return "";
  return "mismatches from now on may have no record, they are counted: " + why;
}

}  // namespace misstep
