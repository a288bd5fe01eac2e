#include "entry_budget.h"

#include <gtest/gtest.h>

namespace misstep {
namespace {

// A thread whose methods take entry_nanos, and a check check_nanos, for a second. Returns the share of its time that
// the checks took; *checks is their number.
double SpentBy(double most, double budget, double entry_nanos, uint64_t check_nanos, int* checks) {
  EntryBudget b;
  double now = 1000;
  double in_checks = 0;
  *checks = 0;
  while (now < 1e9) {
    now += entry_nanos / b.Share(most);
    const auto begin = static_cast<uint64_t>(now);
    const uint64_t took = b.Admits(budget, begin) ? check_nanos : 300;
    *checks += took == check_nanos ? 1 : 0;
    now += static_cast<double>(took);
    in_checks += static_cast<double>(took);
    b.Spend(budget, begin, begin + took);
  }
  return in_checks / now;
}

TEST(EntryBudget, TinyMethodsStayWithinIt) {
  int checks = 0;
  const double spent = SpentBy(0.001, 0.05, 3, 10000, &checks);
  EXPECT_LT(spent, 0.055);
  EXPECT_GT(spent, 0.02);
  EXPECT_GT(checks, 1000);
  EXPECT_GT(SpentBy(0.001, 0, 3, 10000, &checks), 0.5) << "unbounded";
}

TEST(EntryBudget, LongMethodsHaveTheShareThatIsAskedFor) {
  int checks = 0;
  EXPECT_LT(SpentBy(0.001, 0.05, 10000, 10000, &checks), 0.01);
  EXPECT_GT(checks, 90);
}

TEST(EntryBudget, EveryThreadHasACheck) {
  EntryBudget b;
  EXPECT_TRUE(b.Admits(0.05, 1000));
  b.Spend(0.05, 1000, 11000);
  EXPECT_FALSE(b.Admits(0.05, 12000));
  EXPECT_LT(b.Share(0.001), 0.001);
  EXPECT_GT(b.Share(0.001), 0);
  EXPECT_EQ(b.Share(0), 0);
  EXPECT_EQ(EntryBudget().Share(1), 1);
}

}  // namespace
}  // namespace misstep
