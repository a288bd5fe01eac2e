// Keeps the CPU time of a thread's entry checks within a share of the thread's own: what a share of entries costs
// depends on how short the methods are, and differs by a factor of a thousand between programs.
#pragma once

#include <algorithm>
#include <cstdint>

namespace misstep {

// Used by its thread only. Times are CPU times of the thread in nanoseconds.
class EntryBudget {
 public:
  // The share of entries at which the next check is drawn, where at most `most` are wanted.
  double Share(double most) const { return std::max(most * rarity_, std::min(most, kLeastShare)); }

  // Whether a check that is due may be made; if not, later ones are drawn more rarely. budget is the share of the time
  // that checks may take, 0 for all of it; so far is the thread's time.
  bool Admits(double budget, uint64_t so_far) {
    if (budget <= 0 || static_cast<double>(spent_) <= budget * static_cast<double>(so_far)) return true;
    rarity_ = std::max(rarity_ / 2, kLeastRarity);
    return false;
  }

  // Counts what an entry took, whether it was checked or not. Where half of the budget is left, checks are drawn more
  // often.
  void Spend(double budget, uint64_t from, uint64_t to) {
    spent_ += to - std::min(from, to);
    if (static_cast<double>(spent_) < budget / 2 * static_cast<double>(to)) rarity_ = std::min(rarity_ * 2, 1.0);
  }

 private:
  static constexpr double kLeastShare = 1e-7;  // a thread that is busy for a second still has some checks
  static constexpr double kLeastRarity = 1e-6;

  double rarity_ = 1;  // of the share that is wanted
  uint64_t spent_ = 0;
};

}  // namespace misstep
