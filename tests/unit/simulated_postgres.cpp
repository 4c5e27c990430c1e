// simulated_postgres: its transactions, and what is written.
#include "simulated_postgres.hpp"

#include <charconv>
#include <cstring>

namespace outboxd::test {

using flow::exception;
using flow::mark_mode;
using flow::write_result;

const char* type_of(ailment what) {
  switch (what) {
    case ailment::none:
      return "t.happened";
    case ailment::unroutable:
      return "t.unroutable";
    case ailment::missing:
      return "t.missing";
    case ailment::crashing:
      return "t.crashing";
    case ailment::cutting:
      return "t.cutting";
    case ailment::unencodable:
      return "unencodable";
    case ailment::unreadable:
      return "unreadable";
  }
  return "";
}

simulated_postgres::simulated_postgres(virtual_world& world, const limits& bounds, const rules& with)
    : world_(world), bounds_(bounds), with_(with), leaders_(bounds.shards), saved_(bounds.shards) {}

std::int64_t simulated_postgres::nextval() {
  return next_seq_++;
}

flow::xid simulated_postgres::begin() {
  running_.insert(next_xid_);
  return next_xid_++;
}

std::size_t simulated_postgres::insert(flow::xid by, table_row row) {
  const std::size_t index = rows.size();
  row.tx = by;
  row.now.place = next_place_++;
  const auto where =
      std::upper_bound(by_seq_.begin(), by_seq_.end(), row.seq,
                       [this](std::int64_t seq, std::size_t one) { return seq < rows[one].seq; });
  by_seq_.insert(where, index);
  by_tx_.emplace(by, index);
  rows.push_back(row);
  return index;
}

void simulated_postgres::restore(table_row row) {
  constexpr flow::xid of_another_server = 3;
  row.restored = row.visible = true;
  row.landed = tick();
  insert(of_another_server, std::move(row));
  flush();
}

void simulated_postgres::end(flow::xid which, bool commit) {
  running_.erase(which);
  prepared_.erase(which);
  latest_completed_ = std::max(latest_completed_, which);
  const auto [first, last] = by_tx_.equal_range(which);
  for (auto at = first; at != last; ++at) {
    table_row& one = rows[at->second];
    if (one.visible) continue;
    if (!commit) one.gone = true;
    if (!one.gone) {
      one.visible = true;
      one.landed = tick();
    }
  }
  if (!commit) return;
  durable_xid_ = std::max(durable_xid_, which);
  flush();
}

void simulated_postgres::prepare(flow::xid which) {
  prepared_.insert(which);
  durable_xid_ = std::max(durable_xid_, which);
  flush();
}

void simulated_postgres::flush() {
  for (const undo& one : unflushed_) durable_xid_ = std::max(durable_xid_, one.by);
  unflushed_.clear();
}

void simulated_postgres::change(std::size_t row, const std::function<void(table_row&)>& how) {
  const flow::xid by = begin();
  rows[row].touched = true;
  rows[row].now.place = next_place_++;
  how(rows[row]);
  if (on_step) on_step(row, "changed by hand");
  end(by, true);
}

void simulated_postgres::crash() {
  const auto kept = static_cast<std::size_t>(world_.between(0, static_cast<std::int64_t>(unflushed_.size())));
  ++crashes;
  std::vector<row_status> before;
  for (const table_row& one : rows) before.push_back(one.now.status);
  while (unflushed_.size() > kept) {
    unflushed_.back().how();
    unflushed_.pop_back();
  }
  flush();
  std::vector<flow::xid> ended;
  for (const flow::xid one : running_)
    if (!prepared_.contains(one)) ended.push_back(one);
  for (const flow::xid one : ended) {
    running_.erase(one);
    const auto [first, last] = by_tx_.equal_range(one);
    for (auto at = first; at != last; ++at)
      if (!rows[at->second].visible) rows[at->second].gone = true;
  }
  // Ids of transactions and of events that nobody on disk has are given again.
  if (world_.chance(700)) {
    std::int64_t seq = 0;
    for (const table_row& one : rows)
      if (!one.gone) seq = std::max(seq, one.seq);
    next_xid_ = durable_xid_ + 1;
    if (world_.chance(500)) next_seq_ = std::max(seq + 1, std::int64_t{1});
    std::erase_if(by_tx_, [this](const auto& one) { return rows[one.second].gone; });
  }
  latest_completed_ = next_xid_ - 1;
  for (auto& one : leaders_) one = 0;
  for (table_row& one : rows) one.locked_until = {};
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (before[i] == row_status::dead && rows[i].now.status != row_status::dead && on_lost_dead)
      on_lost_dead(i);
}

bool simulated_postgres::try_lead(std::size_t shard, std::uint64_t session) {
  if (leaders_[shard] != 0 && leaders_[shard] != session) return false;
  leaders_[shard] = session;
  return true;
}

void simulated_postgres::unlock(std::uint64_t session) {
  for (auto& one : leaders_)
    if (one == session) one = 0;
}

// As PostgreSQL's GetSnapshotData: what is above the latest that has ended counts as running, listed or not.
flow::snapshot simulated_postgres::snapshot() const {
  flow::snapshot out;
  out.xmax = latest_completed_ + 1;
  out.in_progress.assign(running_.begin(), running_.lower_bound(out.xmax));
  out.xmin = out.in_progress.empty() ? out.xmax : out.in_progress.front();
  return out;
}

std::size_t simulated_postgres::row_of(const event_id& id) {
  std::uint32_t row = 0;
  std::memcpy(&row, id.bytes.data(), sizeof row);
  return __builtin_bswap32(row);
}

std::size_t simulated_postgres::row_of(const std::string& message_id) {
  std::size_t row = 0;
  std::from_chars(message_id.data(), message_id.data() + 8, row, 16);
  return row;
}

void simulated_postgres::write(std::size_t row, const std::function<void(row_state&)>& how,
                               std::vector<std::function<void()>>& undoing) {
  undoing.push_back([this, row, was = rows[row].now] {
    rows[row].now = was;
    if (on_step) on_step(row, "its change lost in a crash");
  });
  how(rows[row].now);
  if (on_step) on_step(row, "written");
  if (world_.chance(500))
    rows[row].now.place = next_place_++;  // else by a HOT update that leaves ctid chains alike
}

void simulated_postgres::finish(std::vector<std::function<void()>> undoing, bool synchronous) {
  if (undoing.empty()) return;
  latest_completed_ = std::max(latest_completed_, next_xid_);
  unflushed_.push_back({next_xid_++, [undoing = std::move(undoing)] {
                          for (auto at = undoing.rbegin(); at != undoing.rend(); ++at) (*at)();
                        }});
  if (synchronous || world_.chance(100)) flush();
}

flow::saved_position simulated_postgres::load(std::size_t shard) {
  if (saved_[shard].ever) return saved_[shard].what;
  return {flow::position::start(snapshot()), {}};
}

bool simulated_postgres::save(std::size_t shard, const flow::position& at,
                              const std::vector<event_id>& unsettled) {
  if (world_.chance(20)) return false;
  std::vector<std::function<void()>> undoing{[this, shard, was = saved_[shard]] { saved_[shard] = was; }};
  saved_[shard] = {{at, unsettled}, true};
  finish(std::move(undoing), false);
  return true;
}

flow::write_answer simulated_postgres::record(const std::vector<flow::failure_record>& what) {
  if (writes_locked_until > world_.now()) return {write_result::deferred, {}, "lock timeout"};
  for (const auto& one : what)
    if (const auto row = row_of(one.id); refuses(row) && !is_finished(rows[row]))
      return {write_result::refused, {}, "raised"};
  flow::write_answer out;
  std::vector<std::function<void()>> undoing;
  bool dies = false;
  for (const auto& one : what) {
    const std::size_t row = row_of(one.id);
    if (is_finished(rows[row])) continue;
    if (is_locked(row)) {
      out.left.push_back(one.id);
      continue;
    }
    dies |= one.to == exception::dead;
    write(
        row,
        [&](row_state& now) {
          now.status = one.to == exception::dead ? row_status::dead : row_status::waiting;
          now.why = one.to;
          now.attempts += one.counts_attempt ? 1 : 0;
          now.deferrals = one.counts_deferral ? now.deferrals + 1 : one.counts_attempt ? 0 : now.deferrals;
          if (one.to == exception::backing_off)
            now.available_at = one.delay ? world_.wall() + *one.delay : timestamp::max();
          if (!one.code.empty()) now.failure = one.code;
        },
        undoing);
  }
  finish(std::move(undoing), dies && with_.dead_synchronous);
  return out;
}

flow::write_answer simulated_postgres::mark(const flow::mark_request& what) {
  if (writes_locked_until > world_.now()) return {write_result::deferred, {}, "lock timeout"};
  flow::write_answer out;
  std::vector<std::size_t> now;
  for (std::size_t i = 0; i < what.ids.size(); ++i) {
    const std::size_t row = row_of(what.ids[i]);
    const bool there =
        what.mode != mark_mode::by_place ||
        std::memcmp(what.places[i].bytes.data(), &rows[row].now.place, sizeof rows[row].now.place) == 0;
    if (is_finished(rows[row]) || !there) {
      if (what.mode == mark_mode::by_place) out.result = write_result::missed;
      continue;
    }
    if (is_locked(row)) {
      if (what.mode != mark_mode::unlocked) return {write_result::deferred, {}, "lock timeout"};
      out.left.push_back(what.ids[i]);
      continue;
    }
    if (refuses(row)) return {write_result::refused, {}, "raised"};
    now.push_back(row);
  }
  std::vector<std::function<void()>> undoing;
  for (const std::size_t row : now) {
    if (on_published) on_published(row);
    write(
        row, [](row_state& of) { of.status = row_status::published, of.why = exception::none; }, undoing);
  }
  finish(std::move(undoing), false);
  return out;
}

}  // namespace outboxd::test
