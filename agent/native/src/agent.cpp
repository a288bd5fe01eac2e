#include "agent.h"

#include "log.h"

namespace misstep {

Agent* agent = nullptr;

Agent::Agent() {
  threads.OnEnd([this](Slot* slot) {
    samples.GiveUp(slot);
    brackets.GiveUp(slot);
  });
}

void Agent::Ready() {
  ready_.store(true, std::memory_order_release);
  if (!service_thread.Runs()) return;
  auto starting = Stage::kStarting;
  if (!stage.compare_exchange_strong(starting, Stage::kReady)) return;
  status->flags.fetch_or(MISSTEP_STATUS_FLAG_STARTED);
  StartChecks();
}

void Agent::ServiceThreadRuns() {
  if (ready_.load(std::memory_order_acquire)) Ready();
}

void Agent::End() {
  if (stage.exchange(Stage::kEnded) == Stage::kReady) StopChecks();
}

void Agent::StartChecks() {
  taps.Start();
  turns_stopped = false;
  checking_ = false;
  const bool judging = options.asgct_shadow > 0 || options.bracket > 0;
  if (judging && !judge_.Start()) {
    Log("cannot start the judge thread: asgct-shadow, asgct-gst-bracket and liveness are off");
    return;
  }
  checking_ = true;
  samples.Start();
  brackets.Start();
  if (!sampler_.Start()) Log("cannot start the sampler thread: asgct-shadow, asgct-gst-bracket and liveness are off");
}

void Agent::StopChecks() {
  taps.Stop();
  sampler_.Stop();
  if (!checking_) return;
  samples.Stop();
  brackets.Stop();
  judge_.Stop();
  judge_.Finish();
}

}  // namespace misstep
