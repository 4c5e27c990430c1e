// flow_chaos_hands: what operators do, and sessions that lock rows.
#include <fmt/format.h>

#include "flow_chaos.hpp"

namespace outboxd::test {

using namespace std::chrono_literals;

// An aggregate of its own: to come too late is out of order.
void flow_chaos::restore() {
  table_row row;
  row.of = static_cast<flow::aggregate>(1'000'000 + table_.rows.size());
  row.seq = world_.between(1, table_.sequence());
  row.born = table_.tick();
  row.now.available_at = world_.wall();
  say(fmt::format("restored: {}", table_.rows.size()));
  table_.restore(std::move(row));
}

// As many as one read brings, of one shard and due at once: they can be sent, and never be marked.
void flow_chaos::insert_stuck() {
  if (settings_.stream.read.batch > 10 || table_.in_recovery()) return;
  say("rows that cannot be marked");
  const flow::xid by = table_.begin();
  for (int i = 0; i < settings_.stream.read.batch; ++i) {
    table_row row;
    row.of = static_cast<flow::aggregate>(2'000'000 + i * 4);
    row.seq = table_.nextval();
    row.born = table_.tick();
    row.scheduled = true;
    row.now.available_at = world_.wall() + milliseconds(1);
    row.now.status = row_status::waiting;
    row.now.why = flow::exception::scheduled;
    (world_.chance(500) ? row.refuses_until : row.locked_until) = clock::time_point::max();
    table_.insert(by, row);
  }
  table_.end(by, true);
}

std::size_t flow_chaos::any_row() {
  return static_cast<std::size_t>(world_.between(0, static_cast<std::int64_t>(table_.rows.size()) - 1));
}

// Deleted and inserted again, with the same id and the same seq, but of another aggregate, as a rule. Among
// that one's events it has no place: a next leader that takes its seq from the saved position reads it first.
void flow_chaos::replace(std::size_t row) {
  say(fmt::format("replace {} by {}", row, table_.rows.size()));
  table_row other;
  other.twin = table_.id_of(row);
  other.seq = table_.rows[row].seq;
  other.of = aggregates_[static_cast<std::size_t>(
      world_.between(0, static_cast<std::int64_t>(aggregates_.size()) - 1))];
  other.born = table_.tick();
  other.touched = true;
  other.large = world_.chance(300);
  other.now.available_at = world_.wall();
  table_.change(row, [](table_row& of) { of.touched = of.gone = true; });
  const flow::xid by = table_.begin();
  table_.insert(by, other);
  table_.end(by, true);
}

void flow_chaos::edit(std::size_t row) {
  if (table_.is_finished(table_.rows[row])) return;
  say(fmt::format("edit {}", row));
  table_.change(row, [](table_row& of) { ++of.now.content; });
}

// As `events postpone` does, whatever it waited for.
void flow_chaos::put_off(std::size_t row) {
  if (table_.is_finished(table_.rows[row]) || table_.rows[row].now.available_at == timestamp::max()) return;
  say(fmt::format("put off {}", row));
  table_.change(row, [this](table_row& of) {
    const auto by = world_.millis(500, 4'000);
    of.touched = true;
    of.now.status = row_status::waiting;
    of.now.why = flow::exception::scheduled;
    of.now.available_at = world_.wall() + by;
    of.now.put_off_until = world_.now() + by;
    of.now.waits_for.reset();
    of.now.first_failed_at.reset();
    of.not_before = {};  // from now on may_be_sent() tells
  });
}

void flow_chaos::cancel(std::size_t row) {
  if (table_.is_finished(table_.rows[row])) return;
  say(fmt::format("cancel {}", row));
  table_.change(row, [](table_row& of) {
    of.touched = true;
    of.now.status = row_status::dead;
    of.now.why = flow::exception::dead;
    of.now.put_off_until = clock::time_point::max();
  });
}

void flow_chaos::operate() {
  if (calm_) return;
  world_.after(world_.millis(0, 800), [this] { operate(); });
  if (table_.rows.empty() || !how_.faults || table_.in_recovery()) return;
  // Nobody walks over what is above an event in memory: where one stays there, what is restored may, too.
  if (world_.chance(50) && !has_stuck_) return restore();
  auto row = any_row();
  if (world_.chance(500))
    while (row + 1 < table_.rows.size() && table_.rows[row].now.status != row_status::waiting) ++row;
  const table_row& one = table_.rows[row];
  if (!one.visible || one.gone || one.locked_until > world_.now()) return;
  const auto set_due = [this](table_row& of) {
    if (of.now.status == row_status::pending) return;
    if (of.now.status != row_status::waiting) {
      of.now.why = flow::exception::backing_off;
      of.now.waits_for.reset();
      of.now.first_failed_at.reset();
    }
    if (!how_.with.kind_kept) of.now.why = flow::exception::scheduled;
    of.now.status = row_status::waiting;
    of.now.available_at = world_.wall();
    of.not_before = {};
    of.now.attempts = 0;
  };
  switch (world_.between(0, looks_again_ ? 7 : 4)) {
    case 4:
      return replace(row);
    case 5:
      return edit(row);
    case 6:
      return put_off(row);
    case 7:
      return cancel(row);
    case 0:
      if (one.now.status != row_status::dead) return;
      say(fmt::format("retry {}", row));
      table_.change(row, [&](table_row& of) {
        of.touched = true;
        if (world_.chance(700)) of.ill = ailment::none;
        set_due(of);
      });
      break;
    case 1:
      if (one.now.status != row_status::waiting) return;
      if (world_.chance(500)) {
        say(fmt::format("due by hand {}", row));
        table_.change(row, set_due);
      } else {
        say("due by hand all that waits");
        for (std::size_t each = 0; each < table_.rows.size(); ++each)
          if (const table_row& it = table_.rows[each]; it.now.status == row_status::waiting && it.visible &&
                                                       !it.gone && it.locked_until <= world_.now())
            table_.change(each, set_due);
      }
      if (world_.chance(300))  // who leads next does not know what they were
        for (auto& each : relays_) each->lose_session(table_.shard_of(one.of));
      break;
    case 2:
      if (one.now.why != flow::exception::backing_off) return;
      say(fmt::format("discard {}", row));
      table_.change(row, [](table_row& of) {
        of.touched = true;
        of.now.status = row_status::dead;
        of.now.why = flow::exception::dead;
      });
      break;
    default:
      if (one.now.status == row_status::published && world_.chance(700)) return;
      say(fmt::format("delete {}", row));
      table_.change(row, [](table_row& of) { of.touched = of.gone = true; });
  }
  for (auto& each : relays_)
    if (world_.chance(500)) each->hear(table_.shard_of(one.of), flow::word::due);
}

// Again and again: what is freed may have bad ones, too.
void flow_chaos::discard_dead() {
  for (std::size_t row = 0; row < table_.rows.size() && !table_.in_recovery(); ++row)
    if (table_.rows[row].now.status == row_status::dead && !table_.rows[row].gone)
      table_.change(row, [](table_row& of) { of.touched = of.gone = true; });
  for (auto& each : relays_)
    for (std::size_t shard = 0; shard < table_.shards(); ++shard) each->hear(shard, flow::word::due);
  world_.after(milliseconds(500), [this] { discard_dead(); });
}

// One more part for a while or until it is resumed, or one less.
void flow_chaos::pause() {
  if (calm_) return;
  world_.after(world_.millis(0, 1'500), [this] { pause(); });
  if (!table_.paused.empty() && world_.chance(600)) {
    say("resumes");
    table_.paused.pop_back();
  } else {
    using part = flow::paused_part;
    flow::pause what{world_.one_of({part::everything, part::event_type, part::aggregate_type, part::exchange,
                                    part::routing_key}),
                     {},
                     {},
                     {}};
    if (what.part == part::aggregate_type) what.name = world_.chance(500) ? "even" : "odd";
    if (what.part == part::event_type)
      what.name = type_of(world_.one_of({ailment::none, ailment::unroutable, ailment::crashing}));
    if (what.part == part::exchange) what.name = world_.one_of({"outbox", "no such*", "*"});
    if (what.part == part::routing_key) what.name = world_.one_of({"t.*", "*.happened", "?.crashing"});
    const auto end = world_.chance(400) ? world_.now() + world_.millis(0, 2'000) : clock::time_point::max();
    say(fmt::format("pauses {}", what.name.empty() ? "everything" : what.name));
    table_.paused.push_back({std::move(what), end});
  }
  for (auto& each : relays_)
    for (std::size_t shard = 0; shard < table_.shards(); ++shard)
      if (world_.chance(700)) each->hear(shard, flow::word::pause);
}

void flow_chaos::lock() {
  if (calm_) return;
  world_.after(world_.millis(0, 300), [this] { lock(); });
  if (table_.rows.empty() || !locks_) return;
  const auto until = world_.now() + (world_.chance(100) ? world_.millis(0, 1'500) : world_.millis(0, 60));
  const auto what = world_.between(0, 30);
  if (what == 0) table_.writes_locked_until = until;
  if (what == 1) table_.writes_locked_until = table_.reads_locked_until = until;
  if (what < 2) return say("table locked");
  const auto count = static_cast<std::int64_t>(table_.rows.size());
  const auto row = static_cast<std::size_t>(world_.between(std::max<std::int64_t>(0, count - 10), count - 1));
  table_.rows[row].locked_until = until;
  if (world_.chance(300)) table_.move_row(row);
}

}  // namespace outboxd::test
