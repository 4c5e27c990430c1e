// injector: the threads, and the evaluation of evidence.
#include "injector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "support/database.hpp"
#include "support/eventually.hpp"

namespace outboxd::chaos {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

std::string_view name_of(outcome what) {
  switch (what) {
    case outcome::happened:
      return "happened";
    case outcome::missed:
      return "missed";
    case outcome::nothing:
      return "NO EVIDENCE";
    case outcome::failed:
      return "FAILED";
  }
  return "?";
}

std::size_t surroundings::lines_with(const std::string& part) const {
  std::size_t sum = 0;
  for (const auto& one : relays) sum += one->lines_with(part);
  return sum;
}

void scene::hold(std::chrono::milliseconds span) {
  const auto until = clock::now() + span;
  while (!stopping_ && clock::now() < until)
    std::this_thread::sleep_for(std::min<clock::duration>(20ms, until - clock::now()));
}

bool scene::await(const std::function<bool()>& seen, std::chrono::milliseconds limit) {
  const auto until = clock::now() + limit;
  for (;;) {
    if (seen()) return true;
    if (stopping_ || clock::now() >= until) return false;
    std::this_thread::sleep_for(20ms);
  }
}

void play(scene& on, std::span<const act> acts) {
  const auto found =
      std::find_if(acts.begin(), acts.end(), [&](const act& one) { return one.what == on.plan.what; });
  if (found == acts.end()) throw std::logic_error{"nobody knows how to do it"};
  found->play(on);
}

namespace {

// True for faults that take a PostgreSQL resource that other faults need, even to undo themselves: they run
// without other faults of the server.
bool has_postgres_to_itself(fault what) {
  return what == fault::lock_table_full || what == fault::standby_gone;
}

std::string runs_with(const planned& one) {
  constexpr auto postgres = target::kind::postgres;
  return has_postgres_to_itself(one.what) ? target{.what = postgres}.words() : one.whom.words();
}

}  // namespace

injector::injector(surroundings all, std::vector<planned> plan, std::chrono::milliseconds length)
    : all_{all}, start_{clock::now()}, end_{start_ + length} {
  std::map<std::string, std::vector<planned>> by_target;
  for (auto& one : plan) by_target[runs_with(one)].push_back(one);
  busy_ = static_cast<int>(by_target.size());
  for (auto& [name, own] : by_target) {
    threads_.emplace_back([this, mine = std::move(own)] {
      run(mine);
      --busy_;
    });
  }
}

injector::~injector() {
  stopping_ = true;
  for (auto& one : threads_) one.join();
}

void injector::wait(const std::function<bool()>& interrupted) {
  while (busy_ > 0 || (clock::now() < end_ && !stopping_)) {
    if (interrupted()) stopping_ = true;
    std::this_thread::sleep_for(50ms);
  }
  for (auto& one : threads_) one.join();
  threads_.clear();
}

// If a fault took longer than planned and the next is late, there is still a gap of at least a second.
void injector::run(const std::vector<planned>& own) {
  auto free_at = start_;
  for (const auto& one : own) {
    const auto begin = std::max(start_ + one.at, free_at);
    while (!stopping_ && clock::now() < begin) std::this_thread::sleep_for(10ms);
    if (stopping_) return;
    carry_out(one);
    free_at = clock::now() + 1s;
  }
}

void injector::carry_out(const planned& one) {
  injection record{
      .plan = one, .result = outcome::nothing, .evidence = {}, .began = clock::now(), .ended = {}};
  {
    const std::lock_guard lock{mutex_};
    under_way_.push_back(&record);
  }
  scene on{all_, one, stopping_};
  bool failed = false;
  try {
    switch (one.whom.what) {
      case target::kind::relay:
        relay_fault(on);
        break;
      case target::kind::guest:
        guest_fault(on);
        break;
      case target::kind::leader:
        leader_fault(on);
        break;
      case target::kind::link:
        link_fault(on);
        break;
      case target::kind::postgres:
        postgres_fault(on);
        break;
      case target::kind::rabbitmq:
        rabbitmq_fault(on);
        break;
      case target::kind::neighbour:
        neighbour_fault(on);
        break;
      case target::kind::hand:
        hand_fault(on);
        break;
    }
  } catch (const test::database_error& error) {
    failed = error.sqlstate != "53200";  // also caused by the lock table fault
    on.saw_nothing(error.what());
  } catch (const std::exception& error) {
    failed = true;
    on.saw_nothing(error.what());
  }
  const std::lock_guard lock{mutex_};
  std::erase(under_way_, &record);
  record.ended = clock::now();
  record.evidence = on.evidence();
  record.unroutable = on.unroutable();
  record.result = failed ? outcome::failed : judge(on, record);
  done_.push_back(std::move(record));
}

// There is no evidence: another fault may have affected the relay, its links or the server at that time, or
// shortly before, so that nothing could be disturbed. Called with the lock held.
outcome injector::judge(const scene& after, const injection& what) const {
  if (after.seen()) return outcome::happened;
  if (after.stopping() || after.passed()) return outcome::missed;
  const auto recently = what.began - 15s;
  const auto overlaps = [&](const injection& other) {
    return other.began < what.ended && (other.ended == moment{} || other.ended > recently) &&
           other.plan.whom != what.plan.whom;
  };
  const bool excused = std::any_of(done_.begin(), done_.end(), overlaps) ||
                       std::any_of(under_way_.begin(), under_way_.end(),
                                   [&](const injection* other) { return overlaps(*other); });
  return excused ? outcome::missed : outcome::nothing;
}

std::vector<injection> injector::all() const {
  const std::lock_guard lock{mutex_};
  auto sorted = done_;
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.began < b.began; });
  return sorted;
}

bool injector::at_work(const std::function<bool(const planned&)>& which, moment from, moment to) const {
  const std::lock_guard lock{mutex_};
  const auto between = [&](const injection& one) {
    return which(one.plan) && one.began <= to && (one.ended == moment{} || one.ended >= from);
  };
  return std::any_of(done_.begin(), done_.end(), between) ||
         std::any_of(under_way_.begin(), under_way_.end(),
                     [&](const injection* one) { return between(*one); });
}

}  // namespace outboxd::chaos
