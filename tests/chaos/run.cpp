// run: runs the parts in order.
#include "run.hpp"

#include <fmt/format.h>

#include "arena.hpp"
#include "figures.hpp"
#include "injector.hpp"
#include "keeper.hpp"
#include "monitor.hpp"
#include "partition_rotator.hpp"
#include "recorder.hpp"
#include "sabotage.hpp"
#include "settle.hpp"
#include "shape.hpp"
#include "side_outboxes.hpp"
#include "support/consumer.hpp"
#include "verdict.hpp"
#include "writers.hpp"

namespace outboxd::chaos {
namespace {

using namespace std::chrono_literals;
using namespace test;

constexpr auto start_limit = 120s;
// The number of partitions of a run, in addition to those that relays start when they take the lead.
constexpr int partitions = 8;
// For each shard of a leader.
constexpr int batches_in_memory = 4;

std::vector<planned> wanted(const options& how) {
  auto plan = make_schedule(how.plan());
  if (how.only.empty()) return plan;
  std::erase_if(plan, [&](const planned& one) {
    return std::find(how.only.begin(), how.only.end(), name_of(one.what)) == how.only.end();
  });
  return plan;
}

std::map<std::string, reason> reasons(database& session) {
  std::map<std::string, reason> all;
  for (const auto& row :
       session.exec("SELECT id, last_error, last_error_code FROM outbox.event WHERE status = 'dead'"))
    all.emplace(*row[0], reason{row[1].value_or(""), row[2].value_or("")});
  return all;
}

/// The message ids of everything in a queue.
std::unordered_set<std::string> ids_in(const arena& where, const std::string& queue) {
  constexpr auto last_message = "end-mark";
  where.connect_broker().publish("", queue, "", last_message);
  consumer reader{queue, 500, where.broker_url()};
  std::unordered_set<std::string> ids;
  for (;;) {
    const auto message = reader.next(300s);
    if (!message) throw std::runtime_error{"the queue " + queue + " does not come to its end"};
    reader.ack(*message);
    if (message->message_id() == last_message) return ids;
    ids.insert(message->message_id());
  }
}

void print(const verdict& end, const evidence& from, const options& how, const std::string& figures) {
  fmt::print("\nFaults:\n");
  for (const auto& one : from.faults)
    fmt::print("  {} {}: {}\n", one.plan.words(), name_of(one.result), one.evidence);
  fmt::print("\nSeed {} ({}): {}\n{}\n", how.seed, how.form.words(), end.summary, figures);
  for (const auto& one : end.violations) fmt::print("VIOLATION: {}\n", one);
  for (const auto& one : end.doubts) fmt::print("INVALID: {}\n", one);
  for (const auto& one : end.delays) fmt::print("Late: {}\n", one);
  if (end.violations.empty() && end.doubts.empty()) {
    fmt::print("No violation.\n");
  } else {
    fmt::print("Logs: {}\nTo see it again: {}\n", std::filesystem::absolute(how.logs).string(),
               how.command());
  }
  std::fflush(stdout);
}

}  // namespace

int run_chaos(const options& how, const std::atomic<bool>& interrupted) {
  const auto stop = [&] { return interrupted.load(); };
  const auto& form = how.form;
  arena where{how.outboxd, how.logs, form.quorum ? queue_type::quorum : queue_type::classic, form.shards,
              form.partitioned};
  keeper guard;
  history deliveries;
  recorder records{where, deliveries};
  std::optional<side_outboxes> beside;
  if (how.outboxes > 1) beside.emplace(how.outboxd, how.outboxes - 1);
  std::vector<std::unique_ptr<relay>> relays;
  relay_settings settings{
      .lanes = form.lanes, .batch = form.batch, .failpoints = how.failpoints, .seed = how.seed};
  if (beside) settings.beside = &*beside;
  if (form.letters) settings.extra.emplace("OUTBOXD_DEAD_LETTER_EXCHANGE", where.graveyard());
  for (int i = 1; i <= form.relays; ++i) relays.push_back(std::make_unique<relay>(i, where, settings, guard));
  surroundings all{where, relays, records};
  for (const auto& one : relays) one->start();
  for (const auto& one : relays)
    if (!one->await_connected(start_limit)) throw std::runtime_error{"a relay does not connect: see its log"};
  std::vector<footprint> before;
  for (const auto& one : relays) before.push_back(one->now());
  settings.guest = true;
  for (int i = 1; i <= form.guests; ++i)
    relays.push_back(std::make_unique<relay>(form.relays + i, where, settings, guard));

  writers load{where, {.seed = how.seed, .writers = how.writers, .aggregates = how.aggregates}};
  evidence seen{.by_writers = {},
                .table = {},
                .reasons = {},
                .deliveries = deliveries,
                .seen = {},
                .faults = {},
                .violations = {},
                .any_pace = how.any_pace,
                .in_flight = static_cast<std::size_t>(batches_in_memory * settings.batch * form.shards),
                .letters = {},
                .given_up_after = settings.give_up_after};
  std::string figures;
  const auto add = [&](const std::vector<std::string>& more) {
    seen.violations.insert(seen.violations.end(), more.begin(), more.end());
  };

  injector faults{all, wanted(how), how.length};
  std::optional<partition_rotator> turner;
  if (form.partitioned) turner.emplace(where, how.length / partitions);
  monitor eyes{all, {.shards = form.shards, .claim_timeout = settings.claim_timeout}, load, faults};
  faults.wait(stop);
  if (turner) turner->finish();
  heal_all(all);
  load.stop();
  const auto drain = await_drained(all, stop);
  add(drain.violations);
  seen.seen = eyes.finish();
  if (interrupted) return 130;
  if (!records.drain(300s)) add({"the recorder did not get to the end of the queue"});
  if (beside) add(beside->finish(figures));
  add(check_footprints(all, form.shards, before, figures));
  if (!settings.failpoints) add(check_figures(all, figures));
  add(stop_all(all));

  if (!how.sabotage.empty()) sabotage(how.sabotage, where, deliveries);
  seen.by_writers = load.all();
  seen.faults = faults.all();
  auto session = where.connect();
  seen.table = committed_events(session);
  seen.unordered_seqs = where.unordered();
  seen.changed = where.changed();
  seen.reasons = reasons(session);
  if (form.letters) seen.letters = ids_in(where, where.graveyard());
  if (form.partitioned)
    figures += fmt::format("\n{} partitions of the outbox were written to", partitions_used(session));
  if (how.failpoints) figures += fmt::format("\n{} lives ended at a failpoint", seen.seen.ended_at_points);
  figures += fmt::format(
      "\ndrained {} events in {:.1f} s after healing; the slowest probe of PostgreSQL took {} ms\n"
      "the lead of a shard went to another session {} times; the longest gap with a healthy relay was {} ms, "
      "and the longest"
      " time that a frozen one kept the lead {} ms",
      drain.backlog, static_cast<double>(drain.took.count()) / 1000, seen.seen.longest_probe.count(),
      seen.seen.leads.changes, seen.seen.leads.longest_gap.count(), seen.seen.leads.longest_hang.count());
  figures += '\n' + histogram(seen.seen.leads.times);
  if (!how.takeovers.empty()) append(how.takeovers, seen.seen.leads.times);
  const auto end = judge(seen, all);
  print(end, seen, how, figures);
  return end.violations.empty() && end.doubts.empty() ? 0 : 1;
}

}  // namespace outboxd::chaos
