#include "options.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <iterator>
#include <set>
#include <vector>

namespace misstep {
namespace {

std::string Wrong(std::string_view key, std::string_view value, const char* expected) {
  std::string s = "option ";
  s.append(key).append("=").append(value).append(": expected ").append(expected);
  return s;
}

bool ParseUnsigned(std::string_view text, uint64_t low, uint64_t high, uint64_t* out) {
  if (text.empty() || text.size() > 20) return false;
  for (char c : text) {
    if (c < '0' || c > '9') return false;
  }
  errno = 0;
  const uint64_t value = std::strtoull(std::string(text).c_str(), nullptr, 10);
  if (errno != 0 || value < low || value > high) return false;
  *out = value;
  return true;
}

bool ParseShare(std::string_view text, double* out) {
  const std::string s(text);
  if (s.empty() || s.size() > 40) return false;
  for (char c : s) {
    if ((c < '0' || c > '9') && c != '.' && c != 'e' && c != 'E' && c != '-' && c != '+') return false;
  }
  char* end = nullptr;
  const double value = std::strtod(s.c_str(), &end);
  if (end != s.c_str() + s.size() || !(value >= 0.0) || value > 1.0) return false;
  *out = value;
  return true;
}

// Signals that the JVM leaves alone on Linux. SIGSEGV and the like are HotSpot's own.
bool ParseSignal(std::string_view text, int* out) {
  if (text == "SIGPROF" || text == "PROF") {
    *out = SIGPROF;
  } else if (text == "SIGVTALRM" || text == "VTALRM") {
    *out = SIGVTALRM;
  } else if (text == "SIGIO" || text == "IO") {
    *out = SIGIO;
  } else if (text == "SIGURG" || text == "URG") {
    *out = SIGURG;
  } else if (text.substr(0, 9) == "SIGRTMIN+" || text.substr(0, 6) == "RTMIN+") {
    uint64_t n = 0;
    if (!ParseUnsigned(text.substr(text.find('+') + 1), 1, 28, &n)) return false;
    *out = SIGRTMIN + static_cast<int>(n);
  } else {
    return false;
  }
  return true;
}

bool ParseThreads(std::string_view text, Options* o) {
  constexpr std::string_view kByName = "name:";
  if (text == "running") {
    o->threads = ThreadChoice::kRunning;
  } else if (text == "round-robin") {
    o->threads = ThreadChoice::kRoundRobin;
  } else if (text == "cpu") {
    o->threads = ThreadChoice::kCpu;
  } else if (text.substr(0, kByName.size()) == kByName && text.size() > kByName.size()) {
    o->threads = ThreadChoice::kName;
    o->thread_pattern = text.substr(kByName.size());
  } else {
    return false;
  }
  return true;
}

// The options of checks that are shares.
struct ShareOption {
  Check check;
  double Options::* share;
};
constexpr ShareOption kShareOptions[] = {
    {Check::kGstAsgct, &Options::gst_asgct},
    {Check::kShadowGst, &Options::shadow_gst},
    {Check::kAsgctShadow, &Options::asgct_shadow},
    {Check::kAsgctGstBracket, &Options::bracket},
    {Check::kEdges, &Options::edges},
};

// The share that a key sets, nullptr when it is no check's option.
double* ShareOf(std::string_view key, Options* o) {
  for (const ShareOption& option : kShareOptions) {
    if (key == NameOf(option.check)) return &(o->*option.share);
  }
  return nullptr;
}

bool NeedsMethodsOf(const CheckFacts& facts) { return facts.methods; }
bool NeedsSignalsOf(const CheckFacts& facts) { return facts.signals; }
bool Walks(const CheckFacts& facts) { return facts.methods || facts.signals; }

// The names of checks with a property, each followed by suffix, the last after the word last: "a, b and c".
std::string NamesOf(bool (*has)(const CheckFacts&), const char* suffix, const char* last) {
  std::vector<std::string> names;
  for (size_t i = 0; i < MISSTEP_CHECK_COUNT; i++) {
    if (has(kCheckFacts[i])) names.push_back(std::string(kCheckNames[i]) + suffix);
  }
  std::string all;
  for (size_t i = 0; i < names.size(); i++) {
    if (i > 0) all += i + 1 == names.size() ? last : ", ";
    all += names[i];
  }
  return all;
}

// Whether a check with a property is on.
bool Asked(const Options& o, bool (*has)(const CheckFacts&)) {
  return std::any_of(std::begin(kShareOptions), std::end(kShareOptions),
                     [&](const ShareOption& s) { return o.*s.share > 0 && has(FactsOf(s.check)); });
}

}  // namespace

bool NeedsMethods(const Options& o) { return Asked(o, NeedsMethodsOf) || !o.perturb.empty() || o.TapsAny(); }

bool Matches(std::string_view pattern, std::string_view text) {
  // Greedy with one place to go back to: the last star can always take one character more.
  size_t p = 0;
  size_t t = 0;
  size_t star = std::string_view::npos;
  size_t taken = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      p++;
      t++;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') p++;
  return p == pattern.size();
}

std::string ParseOptions(std::string_view text, Options* o) {
  std::set<std::string, std::less<>> seen;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view pair = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    if (pair.empty()) continue;
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos) return "option " + std::string(pair) + ": expected key=value";
    const std::string_view key = pair.substr(0, equals);
    const std::string_view value = pair.substr(equals + 1);
    if (!seen.emplace(key).second) return "option " + std::string(key) + " is given twice";
    uint64_t n = 0;
    if (key == "out") {
      if (value.empty() || value[0] != '/') return Wrong(key, value, "an absolute path of a folder");
      o->out = value;
    } else if (key == "perturb") {
      if (value.empty() || value[0] != '/') return Wrong(key, value, "an absolute path of a plan");
      o->perturb = value;
    } else if (key == "seed") {
      if (!ParseUnsigned(value, 0, UINT64_MAX, &o->seed)) return Wrong(key, value, "a number from 0 to 2^64-1");
    } else if (key == "methods") {
      if (!ParseShare(value, &o->methods)) return Wrong(key, value, "a share from 0 to 1");
    } else if (key == "jfr" || key == "leaves") {
      if (value != "0" && value != "1") return Wrong(key, value, "0 or 1");
    } else if (key == "include" || key == "exclude" || key == "only") {
      if (key == "only") {
        if (value.empty()) return Wrong(key, value, "a path");
        o->only = value;
      } else if (value.empty() || value.front() == ';' || value.back() == ';' ||
                 value.find(";;") != std::string_view::npos) {
        return Wrong(key, value, "patterns separated by ;");
      }
    } else if (double* share = ShareOf(key, o); share != nullptr) {
      if (!ParseShare(value, share)) return Wrong(key, value, "a share from 0 to 1");
    } else if (key == "budget") {
      if (!ParseShare(value, &o->budget)) return Wrong(key, value, "a share from 0 (unbounded) to 1");
    } else if (key == "reference") {
      constexpr std::string_view kTrace = "trace:";
      if (value == "shadow") {
        o->trace = 0;
      } else if (value.substr(0, kTrace.size()) != kTrace || !ParseShare(value.substr(kTrace.size()), &o->trace) ||
                 o->trace == 0) {
        return Wrong(key, value, "shadow, or trace:SHARE with a share of method entries above 0 to 1");
      }
    } else if (key == NameOf(Check::kLiveness)) {
      if (!ParseUnsigned(value, 0, 3600000, &n)) return Wrong(key, value, "milliseconds from 0 (off) to 3600000");
      o->liveness_millis = static_cast<uint32_t>(n);
    } else if (key == "interval") {
      if (!ParseUnsigned(value, 10, 60000000, &n)) return Wrong(key, value, "microseconds from 10 to 60000000");
      o->interval_micros = static_cast<uint32_t>(n);
    } else if (key == "jitter") {
      if (!ParseShare(value, &o->jitter)) return Wrong(key, value, "a share from 0 to 1");
    } else if (key == "burst") {
      if (!ParseUnsigned(value, 1, 8, &n)) return Wrong(key, value, "signals from 1 to 8");
      o->burst = static_cast<uint32_t>(n);
    } else if (key == "guesses") {
      if (!ParseUnsigned(value, 0, 1024, &n)) return Wrong(key, value, "words of the stack from 0 to 1024");
      o->guesses = static_cast<uint32_t>(n);
    } else if (key == "threads") {
      if (!ParseThreads(value, o)) return Wrong(key, value, "running, round-robin, cpu or name:PATTERN");
    } else if (key == "signal") {
      if (!ParseSignal(value, &o->signal)) {
        return Wrong(key, value, "SIGPROF, SIGVTALRM, SIGIO, SIGURG or SIGRTMIN+1 to SIGRTMIN+28");
      }
    } else if (key == "tap") {
      if (value != "prof" && value != "usr2" && value != "both") return Wrong(key, value, "prof, usr2 or both");
      o->tap_prof = value != "usr2";
      o->tap_usr2 = value != "prof";
    } else if (key == "tap-asgct") {
      if (!ParseShare(value, &o->tap_asgct)) return Wrong(key, value, "a share from 0 to 1");
    } else if (key == "sites") {
      if (value != "0" && value != "1") return Wrong(key, value, "0 or 1");
      o->sites = value == "1";
    } else if (key == "stacks") {
      if (!ParseUnsigned(value, 1000, 60000000, &n)) return Wrong(key, value, "microseconds from 1000 to 60000000");
      o->stacks_micros = static_cast<uint32_t>(n);
    } else if (key == "depth") {
      if (!ParseUnsigned(value, 64, 16384, &n)) return Wrong(key, value, "frames from 64 to 16384");
      o->depth = static_cast<uint32_t>(n);
    } else if (key == "evidence") {
      if (value != "distinct" && value != "every") return Wrong(key, value, "distinct or every");
      o->evidence = value == "every" ? Evidence::kEvery : Evidence::kDistinct;
    } else if (key == "max-mismatches") {
      if (!ParseUnsigned(value, 1, 16384, &n)) return Wrong(key, value, "a number from 1 to 16384");
      o->max_mismatches = static_cast<uint32_t>(n);
    } else {
      return "unknown option " + std::string(key) +
             ": expected one of out, seed, methods, include, exclude, leaves, only, jfr, "
             "perturb, " MISSTEP_CHECK_OPTIONS
             ", budget, reference, interval, jitter, burst, guesses, threads, signal, tap, tap-asgct, sites, stacks, "
             "depth, evidence, max-mismatches";
    }
  }
  if (o->out.empty()) return "option out is missing: expected out=FOLDER";
  const bool needs_methods = NeedsMethods(*o);
  if (!Asked(*o, Walks) && o->edges > 0) {
    return std::string("option ") + NameOf(Check::kEdges) +
           " judges the traces that other checks take: expected one of " + NamesOf(Walks, "", ", ") + " above 0";
  }
  const bool sends_signals = Asked(*o, NeedsSignalsOf);
  if (!needs_methods && !sends_signals && o->liveness_millis == 0 && !o->sites && o->stacks_micros == 0) {
    return "options " + NamesOf(Walks, "", ", ") + " and " + NameOf(Check::kLiveness) +
           " are all 0: nothing would be checked";
  }
  if (seen.contains("methods") && o->methods == 0.0 && needs_methods && !seen.contains("only")) {
    return "option methods=0 contradicts a check above 0: checks need instrumented methods";
  }
  for (const char* choice : {"methods", "include", "exclude", "leaves"}) {
    if (seen.contains("only") && seen.contains(choice)) {
      return std::string("option ") + choice + " contradicts only, which lists the methods that are instrumented";
    }
  }
  for (const char* choice : {"methods", "include", "exclude", "leaves", "only", "jfr"}) {
    if (seen.contains(choice) && !needs_methods) {
      return std::string("option ") + choice + " contradicts " + NamesOf(NeedsMethodsOf, "=0", " and ") +
             ": no method is instrumented without one of them, perturb or tap";
    }
  }
  for (const char* timing : {"interval", "jitter", "burst", "guesses", "threads", "signal"}) {
    if (seen.contains(timing) && !sends_signals) {
      return std::string("option ") + timing + " contradicts " + NamesOf(NeedsSignalsOf, "=0", " and ") +
             ": no signal is sent without one of them";
    }
  }
  if (o->tap_prof && sends_signals && o->signal == SIGPROF) {
    return "option tap taps SIGPROF, which is also the signal of the agent's own sampler: choose "
           "another with the option signal";
  }
  if (seen.contains("tap-asgct") && !o->TapsAny()) {
    return "option tap-asgct is missing tap, whose calls it is a share of: expected tap=prof, tap=usr2 or tap=both";
  }
  if (o->budget > 0 && !needs_methods) {
    return "option budget contradicts " + NamesOf(NeedsMethodsOf, "=0", " and ") +
           ": it bounds checks at method entries";
  }
  if (seen.contains("reference") && o->asgct_shadow == 0) {
    return std::string("option reference contradicts ") + NameOf(Check::kAsgctShadow) + "=0: it is that check's";
  }
  if (o->burst > 1 && o->asgct_shadow == 0) {
    return std::string("option burst contradicts ") + NameOf(Check::kAsgctShadow) + "=0: bursts are that check's";
  }
  return "";
}

}  // namespace misstep
