// simulated_postgres: its transactions and sessions, and what a crash takes away.
#include "simulated_postgres.hpp"

#include <charconv>
#include <cstring>

namespace outboxd::test {

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
    case ailment::huge:
      return "huge";
  }
  return "";
}

const char* aggregate_type_of(flow::aggregate which) {
  return (which & (flow::aggregate{1} << 40U)) == 0 ? "even" : "odd";
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

void simulated_postgres::burn(flow::xid transactions) {
  next_xid_ += transactions;
  latest_completed_ = std::max(latest_completed_, next_xid_ - 1);
}

std::size_t simulated_postgres::insert(flow::xid by, table_row row) {
  const std::size_t index = rows.size();
  row.tx = by;
  row.now.place = next_place_++;
  row.now.written_by = static_cast<std::uint32_t>(by);
  note_hand(row);
  const auto where =
      std::upper_bound(by_seq_.begin(), by_seq_.end(), row.seq,
                       [this](std::int64_t seq, std::size_t one) { return seq < rows[one].seq; });
  by_seq_.insert(where, index);
  by_tx_.emplace(by, index);
  if (row.twin) twins_.emplace(*row.twin, index);
  rows.push_back(row);
  return index;
}

void simulated_postgres::restore(table_row row) {
  constexpr flow::xid of_another_server = 3;
  row.restored = row.visible = true;
  row.landed = tick();
  const std::size_t index = insert(of_another_server, std::move(row));
  log(0, [this, index] { rows[index].gone = true; });
  flush();
}

void simulated_postgres::end(flow::xid which, bool commit) {
  running_.erase(which);
  const bool prepared = prepared_.erase(which) > 0;
  latest_completed_ = std::max(latest_completed_, which);
  std::vector<std::size_t> shown;
  const auto [first, last] = by_tx_.equal_range(which);
  for (auto at = first; at != last; ++at) {
    table_row& one = rows[at->second];
    if (one.visible) continue;
    if (!commit) one.gone = true;
    if (!one.gone) {
      one.visible = true;
      one.landed = tick();
      shown.push_back(at->second);
    }
  }
  if (!commit) return;
  log(which, [this, which, prepared, shown = std::move(shown)] {
    for (const std::size_t row : shown) {
      rows[row].visible = false;
      rows[row].gone = !prepared;
      if (on_step) on_step(row, "its commit lost");
    }
    if (!prepared) return;
    running_.insert(which);
    prepared_.insert(which);
  });
  flush();
}

void simulated_postgres::prepare(flow::xid which) {
  prepared_.insert(which);
  log(which, [this, which] { prepared_.erase(which); });  // then it ends with what runs
  flush();
}

// A standby may be that far behind.
void simulated_postgres::log(flow::xid by, std::function<void()> undo) {
  constexpr auto longest_lag = milliseconds(50);
  for (; flushed_ > 0 && log_.front().when < world_.now() - longest_lag; --flushed_) {
    replicated_xid_ = std::max(replicated_xid_, log_.front().by);
    log_.pop_front();
  }
  log_.push_back({by, world_.now(), std::move(undo)});
}

void simulated_postgres::flush() {
  for (; flushed_ < log_.size(); ++flushed_) durable_xid_ = std::max(durable_xid_, log_[flushed_].by);
}

void simulated_postgres::change(std::size_t row, const std::function<void(table_row&)>& how) {
  const flow::xid by = begin();
  log(by, [this, row, was = rows[row]] {
    rows[row].now = was.now;
    rows[row].ill = was.ill;
    rows[row].gone = was.gone;
    note_hand(rows[row]);
  });
  rows[row].now.place = next_place_++;
  rows[row].now.written_by = static_cast<std::uint32_t>(by);
  rows[row].now.put_off_until = {};
  how(rows[row]);
  note_hand(rows[row]);
  if (on_step) on_step(row, "changed by hand");
  end(by, true);
}

void simulated_postgres::crash() {
  const auto unflushed = static_cast<std::int64_t>(log_.size() - flushed_);
  std::vector<row_status> before;
  for (const table_row& one : rows) before.push_back(one.now.status);
  lose_commits_after(flushed_ + static_cast<std::size_t>(world_.between(0, unflushed)));
  flush();
  end_what_runs();
  give_ids_again(durable_xid_);
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (before[i] == row_status::dead && rows[i].now.status != row_status::dead && on_lost_dead)
      on_lost_dead(i);
}

// Who was dead may have been requeued, behind its successors: that is lost with the commit.
void simulated_postgres::promote() {
  std::vector<row_status> before;
  for (const table_row& one : rows) before.push_back(one.now.status);
  lose_commits_after(static_cast<std::size_t>(world_.between(0, static_cast<std::int64_t>(log_.size()))));
  for (std::size_t i = 0; i < before.size(); ++i)
    if (before[i] == row_status::dead && rows[i].now.status != row_status::dead) rows[i].touched = true;
  flow::xid latest = replicated_xid_;
  for (const logged& one : log_) latest = std::max(latest, one.by);
  durable_xid_ = latest;
  flushed_ = log_.size();
  end_what_runs();
  give_ids_again(latest);
  ++failovers;
  recovered_at_ = world_.now() + world_.millis(0, 1'000);
  world_.at(recovered_at_, [this, mine = failovers] {
    if (mine == failovers) finish_prepared();
  });
}

void simulated_postgres::move() {
  flush();
  log_.clear();
  flushed_ = 0;
  prepared_.clear();
  end_what_runs();
  if (world_.chance(500)) {
    next_seq_ = std::max(next_seq_ - world_.between(0, 60), std::int64_t{1});
    for (table_row& one : rows) one.gone |= one.seq >= next_seq_;
  }
  std::erase_if(by_tx_, [this](const auto& one) { return rows[one.second].gone; });
  ++failovers;
  recovered_at_ = {};
  for (saved& one : saved_)
    if (one.by == saver::this_server) one.by = saver::another;
  next_xid_ = world_.one_of<flow::xid>({next_xid_ / 2, next_xid_ - 100, next_xid_ * 2});
  latest_completed_ = durable_xid_ = replicated_xid_ = next_xid_ - 1;
}

void simulated_postgres::lose_commits_after(std::size_t kept) {
  while (log_.size() > kept) {
    const auto undo = std::move(log_.back().undo);
    log_.pop_back();
    undo();
  }
}

// But for what is prepared.
void simulated_postgres::end_what_runs() {
  ++crashes;
  std::vector<flow::xid> ended;
  for (const flow::xid one : running_)
    if (!prepared_.contains(one)) ended.push_back(one);
  for (const flow::xid one : ended) {
    running_.erase(one);
    const auto [first, last] = by_tx_.equal_range(one);
    for (auto at = first; at != last; ++at)
      if (!rows[at->second].visible) rows[at->second].gone = true;
  }
  for (auto& one : leaders_) one = 0;
  present_.clear();
  for (table_row& one : rows) one.locked_until = {};
}

// Ids of transactions and of events that nobody on disk has are given again.
void simulated_postgres::give_ids_again(flow::xid latest) {
  if (world_.chance(700)) {
    std::int64_t seq = 0;
    for (const table_row& one : rows)
      if (!one.gone) seq = std::max(seq, one.seq);
    next_xid_ = latest + 1;
    if (world_.chance(500)) next_seq_ = std::max(seq + 1, std::int64_t{1});
    std::erase_if(by_tx_, [this](const auto& one) { return rows[one.second].gone; });
  }
  latest_completed_ = next_xid_ - 1;
}

void simulated_postgres::finish_prepared() {
  for (const flow::xid which : prepared_)
    world_.after(world_.millis(0, 1'500), [this, which, mine = failovers] {
      if (mine == failovers && prepared_.contains(which)) end(which, true);
    });
}

bool simulated_postgres::try_lead(std::size_t shard, std::uint64_t session) {
  if (is_read_only() || (in_recovery() && with_.no_lead_in_recovery)) return false;
  if (leaders_[shard] != 0 && leaders_[shard] != session) return false;
  leaders_[shard] = session;
  return true;
}

void simulated_postgres::unlock(std::uint64_t session) {
  for (auto& one : leaders_)
    if (one == session) one = 0;
}

void simulated_postgres::show(std::uint64_t session, bool able) {
  if (able)
    present_.insert(session);
  else
    present_.erase(session);
}

void simulated_postgres::end_session(std::uint64_t which) {
  unlock(which);
  present_.erase(which);
}

// As PostgreSQL's GetSnapshotData: what is above the latest that has ended counts as running, listed or not.
// In recovery nothing is listed.
flow::snapshot simulated_postgres::snapshot() const {
  flow::snapshot out;
  out.xmax = latest_completed_ + 1;
  if (!in_recovery()) out.in_progress.assign(running_.begin(), running_.lower_bound(out.xmax));
  out.xmin = out.in_progress.empty() ? out.xmax : out.in_progress.front();
  return out;
}

std::size_t simulated_postgres::row_of(std::string_view aggregate_id) {
  std::size_t row = 0;
  std::from_chars(aggregate_id.data(), aggregate_id.data() + aggregate_id.size(), row);
  return row;
}

std::optional<std::size_t> simulated_postgres::find(const event_key& key) const {
  std::uint32_t number = 0;
  std::memcpy(&number, key.id.bytes.data(), sizeof number);
  number = __builtin_bswap32(number);
  const auto is_it = [&](std::size_t row) {
    const table_row& one = rows[row];
    return !one.gone && one.seq == key.seq && one.tx == key.tx && one.twin.value_or(row) == number;
  };
  if (number < rows.size() && is_it(number)) return number;
  const auto [first, last] = twins_.equal_range(number);
  for (auto at = first; at != last; ++at)
    if (is_it(at->second)) return at->second;
  return std::nullopt;
}

}  // namespace outboxd::test
