// The periodic races, those in Java by what their threads wait for.
#pragma once

#include "instant.h"

namespace {

Code caller(Shared &s) {
  co_await nap(12000);
  co_await lock(s.a);
  co_await work(50);
  s.request.post();
  co_await s.reply.wait();
  unlock(s.a);
}
Code server(Shared &s) {
  co_await nap(3000);
  co_await nap(1000);
  co_await lock(s.a);
  co_await work(50);
  unlock(s.a);
  co_await s.request.wait();
  s.reply.post();
}
Code both_permits(Shared &s, int begin, int gap) {
  co_await nap(begin);
  co_await s.permits.wait();
  co_await nap(gap);
  co_await s.permits.wait();
  co_await work(50);
  s.permits.post();
  s.permits.post();
}
Code asker(Shared &s) {
  uint64_t until = world->now + 40000000;
  s.ready = true;
  while (!s.done && world->now < until) co_await timed(s.changed, until - world->now);
  std::erase(s.changed.waiting, world->current);
  s.ready = false;
}
Code answerer(Shared &s) {
  co_await nap(5000);
  co_await nap(3000);
  if (!s.ready) throw Bug{};
  s.done = true;
  wake_first(s.changed);
}

// Threads in Java begin together.
std::suspend_always opened(Shared &s) {
  if (s.open) return nanoseconds(50);
  s.gate.waiting.push_back(world->current);
  world->current->state = State::kBlocked;
  return {};
}
Code checker(Shared &s, int begin, int gap) {  // it acts on what it saw before the gap
  co_await opened(s);
  co_await nap(begin);
  if (s.done) co_return;
  co_await nap(gap);
  if (s.done) throw Bug{};
}
Code finisher(Shared &s, int at) {
  co_await opened(s);
  co_await nap(at);
  s.done = true;
}
Code submitter(Shared &s, int at) {  // to a pool that starts a thread for the task
  co_await opened(s);
  co_await nap(at);
  co_await nanoseconds(kCreate);
  co_await join(world->create(both_permits(s, 0, 1000)));
}

Body checking(int begin, int gap) {
  return [=](Shared &s) { return checker(s, begin, gap); };
}
Body finishing(int at) {
  return [=](Shared &s) { return finisher(s, at); };
}

const std::vector<Race> &periodic() {
  static const std::vector<Race> all = {
      {"upgrade_slip", {checking(0, 100), finishing(800)}, right},
      {"two_permits",
       {[](Shared &s) { return both_permits(s, 500, 300); }, [](Shared &s) { return both_permits(s, 4800, 300); }},
       right},
      {"lock_handover", {caller, server}, right},
      {"late_answer", {asker, answerer}, right},
      {"EvictingCache", {checking(500, 200), finishing(7000)}, right},
      {"ReusedNode", {checking(3000, 2000), finishing(15000)}, right},
      {"PoolOfTwo",
       {[](Shared &s) { return submitter(s, 1000); }, [](Shared &s) { return submitter(s, 15000); }},
       right},
      {"StopBeforeStart", {checking(2000, 2000), finishing(20000)}, right},
  };
  return all;
}

}  // namespace
