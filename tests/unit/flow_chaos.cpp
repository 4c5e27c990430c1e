// flow_chaos: a simulation from its begin to its end, and what writers do in it.
#include "flow_chaos.hpp"

#include <fmt/format.h>

namespace outboxd::test {

using namespace std::chrono_literals;

flow_chaos::flow_chaos(std::uint64_t seed, const chaos& how)
    : world_(seed),
      how_(how),
      sequence_tricks_(how.tricks && world_.chance(300)),
      hand_overs_(how.faults || world_.chance(500)),
      locks_(how.faults || !hand_overs_),
      has_stuck_(locks_ && how.refusals && world_.chance(300)),
      looks_again_(world_.chance(700)),
      table_(world_, limits_from(world_), how_.with) {
  auto& stream = settings_.stream;
  stream.read.batch = world_.one_of({3, 10, 100});
  stream.read.seq_span = world_.one_of<std::int64_t>({5, 40, 20'000});
  stream.batches = world_.one_of({2, 4});
  stream.batch_bytes = world_.one_of<std::int64_t>({1'000, 8'000'000});
  stream.marks = {.enough = world_.one_of<std::size_t>({1, 10}),
                  .linger = microseconds(world_.one_of({0, 3'000}))};
  stream.longest_chain = world_.one_of<std::uint32_t>({2, 5, 500});
  stream.most_overtaking = world_.one_of<std::size_t>({0, 20, 100'000});
  stream.most_held = world_.one_of<std::size_t>({2, 5, 200'000, 200'000});
  stream.order = how.order;
  stream.after_dead = how.after_dead;
  stream.fresh_for = looks_again_ ? how.fresh_for : std::chrono::hours(1);
  settings_.max_rate = how.max_rate;
  stream.retry = retry_policy::exponential(50ms, 300ms, 8);
  stream.give_up_after = give_up_after_;
  if (world_.chance(300)) stream.dead_letter_exchange = "dead";
  if (how.with.lead_checked) stream.lead_lasts = simulated_relay::lead_lasts(settings_.claim_timeout);
  settings_.lane.confirm_timeout = 1'500ms;
  settings_.renews_lanes = world_.chance(500);
  // A lead is given up with what PostgreSQL refuses to write, and the next leader sends that again.
  settings_.counts_others = how.faults || !locks_;
  for (auto count = world_.one_of({2, 4, 9}); count-- > 0;)
    aggregates_.push_back(static_cast<flow::aggregate>(world_.number()));

  exchange_.on_delivered = [this](std::size_t row) { on_delivered(row); };
  exchange_.on_refused = [this](std::size_t row) { table_.rows[row].refused = true; };
  exchange_.ailment_of = [this](std::size_t row) { return table_.rows[row].ill; };
  exchange_.key_of = [this](std::size_t row) { return table_.rows[row].key; };
  exchange_.aggregate_of = [this](std::size_t row) { return table_.rows[row].of; };
  exchange_.nacks_may_deliver = how.faults;
  exchange_.nacks_in_thousand = how.refusals ? world_.one_of({0, 30, 200}) : 0;
  exchange_.returns_in_thousand = how.refusals ? world_.one_of({0, 20}) : 0;
  exchange_.letters_refused_in_thousand = world_.one_of({0, 300});
  table_.on_published = [this](std::size_t row) { on_published(row); };
  table_.on_lost_dead = [this](std::size_t row) {
    for (const auto& one : table_.rows)
      require(one.delivered == 0 || !is_before(table_.rows[row], one),
              "a dead event is not forgotten when its successor is out");
  };
  table_.on_rewritten = [this](std::size_t row) {
    require(false, fmt::format("what waits for its destination is not written again ({})", row));
  };
  table_.on_given_up = [this](std::size_t row, std::chrono::microseconds failing) {
    require(failing >= give_up_after_ - 200ms, fmt::format("nothing is given up too early ({})", row));
  };
  table_.on_dead = [this] {
    if (how_.faults && world_.chance(20)) world_.after(world_.micros(0, 8'000), [this] { crash(); });
  };
  for (auto count = world_.between(1, 3); count-- > 0;) start_relay();
  write();
  operate();
  if (how.pauses) pause();
  if (how.refusals) break_destinations();
  lock();
  if (has_stuck_) world_.after(world_.millis(0, 2'000), [this] { insert_stuck(); });
  if (how.faults || hand_overs_) strike();
}

simulated_postgres::limits flow_chaos::limits_from(virtual_world& world) {
  return {.shards = world.one_of<std::size_t>({1, 1, 2, 4}),
          .xids_at_once = world.one_of<flow::xid>({2, 10, 20'000}),
          .rows_at_once = world.one_of<std::ptrdiff_t>({1, 5, 20'000}),
          .walk_rows = world.one_of<std::size_t>({1, 5, 1'000}),
          .page = world.one_of<std::size_t>({1, 3, 500}),
          .fetched_bytes = world.one_of<std::int64_t>({1, 7'000}),
          .slow_in_thousand = world.one_of<std::int64_t>({0, 0, 30})};
}

void flow_chaos::follow(std::size_t which) {
  table_.on_step = [this, which](std::size_t row, const char* what) {
    if (row != which) return;
    const table_row& one = table_.rows[row];
    say(fmt::format("  row {} {}: seq {} tx {} aggregate {:x} status {} why {} ill {}", row, what, one.seq,
                    one.tx, static_cast<std::uint64_t>(one.of) >> 48, static_cast<int>(one.now.status),
                    static_cast<int>(one.now.why), static_cast<int>(one.ill)));
  };
}

void flow_chaos::run() {
  const auto end = world_.now() + world_.millis(2'000, 6'000);
  while (world_.now() < end) {
    world_.run_until(world_.now() + 37ms);
    check_position();
  }
  heal();
  // The last pause, claim_timeout, reconnects, backoffs, pauses of writes that were refused, probes of
  // destinations, connections that bad events end, and the drain. Sound schedules took 17,000 steps at
  // most: many times as many do not end.
  const auto latest = world_.now() + give_up_after_ + 120s;
  while (world_.now() < latest && world_.steps() < 80'000 && !at_rest()) {
    world_.run_until(world_.now() + 200ms);
    check_position();
  }
  check_end();
  for (auto& one : relays_) one->stop(1'000ms);
  world_.run_until(world_.now() + 3s);
  for (std::size_t i = 0; i < table_.shards(); ++i)
    require(table_.leader_of(i) == 0, "no lock is left behind");
}

void flow_chaos::start_relay() {
  relays_.push_back(std::make_unique<simulated_relay>(
      world_, table_, exchange_, static_cast<int>(world_.between(1, 3)), settings_, how_.with,
      [this](const char* what) { require(false, what); }));
  relays_.back()->on_sent = [this](std::size_t row, int content) { on_sent(row, content); };
  relays_.back()->on_lead = [this, which = relays_.size() - 1](std::size_t shard,
                                                               const flow::saved_position& from) {
    std::string owed;
    for (const std::int64_t seq : from.unsettled) owed += fmt::format(" seq {}", seq);
    say(fmt::format("{} leads {} from {}/{}{}", which, shard, from.at.seq, from.at.seen.text(), owed));
  };
}

// Writers.

void flow_chaos::write() {
  if (calm_) return;
  if (world_.chance(5)) table_.burn(static_cast<flow::xid>(world_.between(1, 4'000'000'000)));
  if (!table_.in_recovery()) {
    auto in = std::make_shared<transaction>();
    in->left = static_cast<int>(world_.between(1, 3));
    in->crashes = table_.crashes;
    in->failovers = table_.failovers;
    if (world_.chance(300)) in->id = table_.begin();  // else with the first row
    statement(in);
  }
  world_.after(world_.chance(100) ? world_.millis(0, 300) : world_.millis(0, 50), [this] { write(); });
}

void flow_chaos::statement(const std::shared_ptr<transaction>& in) {
  if (in->crashes != table_.crashes) return;
  if (in->left-- == 0) return finish(in);
  insert(*in);
  const bool is_long = !calm_ && world_.chance(60);
  world_.after(is_long ? world_.millis(0, 3'000) : world_.micros(0, 2'000), [this, in] { statement(in); });
}

void flow_chaos::insert(transaction& in) {
  const std::size_t rows_before = in.rows.size();
  for (auto count = world_.chance(30) ? world_.between(5, 15) : 1; count-- > 0;) {
    table_row row;
    row.of = aggregates_[static_cast<std::size_t>(
        world_.between(0, static_cast<std::int64_t>(aggregates_.size()) - 1))];
    row.seq = table_.nextval();
    row.born = table_.tick();
    if (in.id == 0) in.id = table_.begin();
    if (!sequence_tricks_ && !table_.rows.empty() && world_.chance(50)) row.twin = table_.id_of(any_row());
    if (world_.chance(80))
      row.ill = world_.one_of({ailment::unroutable, ailment::missing, ailment::crashing, ailment::cutting,
                               ailment::unencodable, ailment::unreadable, ailment::huge});
    if (row.ill == ailment::none) row.key = static_cast<int>(world_.between(0, other_exchange));
    if (!how_.refusals && row.ill != ailment::unencodable) row.ill = ailment::none;
    if (!how_.faults && closes_something(row.ill)) row.ill = ailment::none;  // that is a fault
    row.large = world_.chance(30);
    row.scheduled = world_.chance(50);
    row.now.available_at = world_.wall();
    if (row.scheduled) {
      const auto by = world_.millis(1, 2'000);
      row.now.available_at += by;
      row.not_before = world_.now() + by;
    }
    if (how_.refusals && locks_ && world_.chance(20))
      row.refuses_until = world_.now() + world_.millis(0, 3'000);
    in.rows.push_back(table_.insert(in.id, row));
  }
  if (world_.chance(50)) {  // ROLLBACK TO SAVEPOINT
    while (in.rows.size() > rows_before) {
      table_.remove(in.rows.back());
      in.rows.pop_back();
    }
  }
  if (sequence_tricks_ && world_.chance(20)) {
    table_.set_sequence(std::max<std::int64_t>(1, table_.sequence() + world_.between(-30, 20)));
    say(fmt::format("sequence at {}", table_.sequence()));
  }
}

void flow_chaos::finish(const std::shared_ptr<transaction>& in) {
  if (in->id == 0 || in->failovers != table_.failovers) return;
  if (!in->prepared && world_.chance(60)) {
    in->prepared = true;
    table_.prepare(in->id);
    if (how_.faults && world_.chance(20)) world_.after(world_.micros(0, 100'000), [this] { promote(); });
    world_.after(world_.millis(0, 1'500), [this, in] { finish(in); });
    return;
  }
  const bool commit = world_.chance(930);
  table_.end(in->id, commit);
  if (!commit) return;
  for (const std::size_t row : in->rows) {
    if (table_.on_step) table_.on_step(row, "committed");
    if (world_.chance(800))
      for (auto& one : relays_) one->hear(table_.shard_of(table_.rows[row].of), flow::word::ring);
  }
}

}  // namespace outboxd::test
