// simulated_postgres: the statements that read.
#include <cstring>

#include <array>

#include "simulated_postgres.hpp"

namespace outboxd::test {

using flow::exception;
using flow::read_result;

flow::saved_position simulated_postgres::load(std::size_t shard) {
  const saved& found = saved_[shard];
  const flow::snapshot now = snapshot();
  if (found.by == saver::nobody || (found.by == saver::another && with_.copy_told))
    return {flow::position::start(now), {}};
  return found.what;
}

flow::stored_event simulated_postgres::stored(std::size_t row, bool keys_only) {
  const table_row& from = rows[row];
  flow::stored_event out;
  const auto number = __builtin_bswap32(static_cast<std::uint32_t>(from.twin.value_or(row)));
  std::memcpy(out.what.id.bytes.data(), &number, sizeof number);
  if (!with_.by_key)
    std::memcpy(out.what.id.bytes.data() + 8, &next_alias_, sizeof next_alias_), ++next_alias_;
  std::memcpy(out.what.place.bytes.data(), &from.now.place, sizeof from.now.place);
  out.what.seq = from.seq;
  out.what.tx = from.tx;
  out.what.written_by = from.now.written_by;
  struct texts {
    std::string name, content;
  };
  const auto kept = std::make_shared<texts>(texts{std::to_string(row), std::to_string(from.now.content)});
  out.what.aggregate_id = kept->name;
  out.what.payload = kept->content;
  out.storage = kept;
  out.what.aggregate = from.of;
  out.what.aggregate_type = aggregate_type_of(from.of);
  out.what.event_type = type_of(from.ill);
  out.what.headers = "{}";
  if (from.ill == ailment::missing) out.what.exchange = "no such exchange";
  out.what.attempts = from.now.attempts;
  out.waits_for = from.now.why == exception::backing_off ? from.now.waits_for : std::nullopt;
  out.first_failed_at = from.now.first_failed_at;
  constexpr std::array<std::string_view, 4> keys{"", "k.one", "k.two", "k.three"};
  if (from.key > 0) out.what.routing_key = keys.at(static_cast<std::size_t>(from.key));
  if (from.key == other_exchange) out.what.exchange = "orders";
  out.from = from.now.why;
  if (out.from == exception::none && from.scheduled && from.now.available_at > world_.wall())
    out.due_in = std::chrono::ceil<milliseconds>(from.now.available_at - world_.wall());
  out.withheld = keys_only || from.large;
  out.suspect = from.now.failure == "channel_closed" || from.now.failure == "connection_closed";
  out.size = from.large ? 3'000 : 100;
  if (on_step) on_step(row, "read");
  return out;
}

template <class Answer>
void simulated_postgres::bring(const std::vector<std::size_t>& which, bool keys_only,
                               flow::tried<Answer>& out, std::vector<flow::stored_event>& into) {
  if (!keys_only && world_.chance(bounds_.slow_in_thousand)) {
    out = {};
    out.result = read_result::too_dear;
    return;
  }
  for (const std::size_t row : which) {
    const bool ill = rows[row].ill == ailment::unreadable || rows[row].ill == ailment::huge;
    if (keys_only || rows[row].large || !ill) continue;
    out = {};
    out.result = rows[row].ill == ailment::huge ? read_result::too_dear : read_result::refused;
    return;
  }
  for (const std::size_t row : which) into.push_back(stored(row, keys_only));
}

// How far (c) looks.
flow::xid simulated_postgres::looked_up_to(const flow::snapshot& since, const flow::snapshot& now) const {
  const flow::xid unasked = since.xmax + bounds_.xids_at_once;
  if (now.xmax <= unasked) return now.xmax;
  if (!with_.empty_spans) return unasked;
  auto left = bounds_.rows_at_once;
  for (auto at = by_tx_.lower_bound(since.xmax); at != by_tx_.end() && at->first < now.xmax; ++at)
    if (shows(rows[at->second]) && --left <= 0) return at->first + 1;
  return now.xmax;
}

flow::tried<flow::read_answer> simulated_postgres::read(std::size_t shard, const flow::read_request& what,
                                                        const std::vector<flow::aggregate>& passing_over,
                                                        bool keys_only) {
  flow::tried<flow::read_answer> out;
  if (cannot_read(out)) return out;
  const flow::snapshot now = snapshot();
  const flow::xid upper = looked_up_to(what.from.seen, now);
  std::vector<std::size_t> late;
  std::vector<std::size_t> fresh;
  auto& answer = out.answer;
  for (const std::size_t row : by_seq_) {
    const table_row& one = rows[row];
    if (!shows(one) || shard_of(one.of) != shard) continue;
    const bool pending = one.now.status == row_status::pending;
    if (one.seq > what.from.seq && (pending || with_.top_of_any)) answer.top = one.seq;
    if (!pending) continue;
    const auto& open = what.from.seen.in_progress;
    if (one.seq > what.from.seq) {
      if (std::ranges::find(passing_over, one.of) != passing_over.end()) continue;
      const bool tie = with_.ties && !fresh.empty() && rows[fresh.back()].seq == one.seq;
      if (one.seq <= what.seq_limit && (static_cast<int>(fresh.size()) < what.events || tie))
        fresh.push_back(row);
    } else if (with_.late_open && std::binary_search(open.begin(), open.end(), one.tx)) {
      late.push_back(row);
    } else if (with_.late_new && what.from.seen.xmax <= one.tx && one.tx < upper) {
      late.push_back(row);
    }
  }
  answer.xmax = now.xmax;
  answer.now = with_.slice_cuts ? now.cut_at(upper) : now;
  answer.saw_all = upper == now.xmax || !with_.slices_first || !with_.slice_cuts;
  answer.late = static_cast<std::int64_t>(late.size());
  if (!late.empty()) answer.late_low = rows[late.front()].seq;
  if (what.with_summary) add_summary(shard, answer);
  const bool goes_back = answer.late > what.events;
  if (!goes_back) late.insert(late.end(), fresh.begin(), fresh.end());
  if (!goes_back || !with_.going_back_alone) bring(goes_back ? fresh : late, keys_only, out, answer.rows);
  return out;
}

void simulated_postgres::add_summary(std::size_t shard, flow::read_answer& to) const {
  to.next_due.reset();
  to.holds = false;
  to.queue_usage = 0;
  for (const table_row& one : rows) {
    if (!shows(one) || shard_of(one.of) != shard || one.now.status != row_status::waiting) continue;
    to.holds |= one.now.why != exception::scheduled;
    if (one.now.why == exception::parked || one.now.available_at == timestamp::max()) continue;
    const auto left =
        std::max(milliseconds(0), std::chrono::ceil<milliseconds>(one.now.available_at - world_.wall()));
    to.next_due = std::min(to.next_due.value_or(left), left);
  }
}

flow::tried<flow::laggards_answer> simulated_postgres::laggards(std::size_t shard,
                                                                const flow::laggards_request& what,
                                                                bool keys_only) {
  flow::tried<flow::laggards_answer> out;
  if (cannot_read(out)) return out;
  std::vector<std::size_t> all;
  for (const flow::left_behind& each : what.of) {
    std::optional<std::int64_t> beyond;
    std::vector<std::size_t> found;
    for (const std::size_t row : by_seq_) {
      const table_row& one = rows[row];
      if (!shows(one) || one.seq <= each.after) continue;
      if (one.seq > each.after + what.seq_span) {
        beyond = one.seq - 1;
        break;
      }
      if (one.of != each.which || one.now.status != row_status::pending || shard_of(one.of) != shard)
        continue;
      const bool tie = !found.empty() && rows[found.back()].seq == one.seq;
      if (static_cast<int>(found.size()) < what.events || tie) found.push_back(row);
    }
    if (static_cast<int>(found.size()) >= what.events) beyond = rows[found.back()].seq;
    out.answer.looked_to.emplace_back(each.which, beyond);
    all.insert(all.end(), found.begin(), found.end());
  }
  bring(all, keys_only, out, out.answer.rows);
  std::ranges::stable_sort(out.answer.rows, {}, [](const auto& one) { return one.what.seq; });
  return out;
}

// All in one page.
flow::tried<flow::waits_answer> simulated_postgres::waits(std::size_t shard,
                                                          const flow::failing_destinations_request& what) {
  flow::tried<flow::waits_answer> out;
  if (in_recovery()) out.result = read_result::deferred;
  if (in_recovery() || cannot_read(out)) return out;
  std::vector<std::pair<std::size_t, timestamp>> changed;
  for (const std::size_t row : by_seq_) {
    const table_row& one = rows[row];
    if (!shows(one) || shard_of(one.of) != shard || one.now.why != exception::backing_off ||
        !one.now.waits_for)
      continue;
    if (*one.now.waits_for < what.after.of) continue;
    if (std::ranges::find(out.answer.found, *one.now.waits_for) == out.answer.found.end())
      out.answer.found.push_back(*one.now.waits_for);
    if (what.only_reads || !one.now.first_failed_at || is_locked(row) ||
        one.now.available_at <= world_.wall())
      continue;
    const auto until = std::max(*one.now.first_failed_at + what.give_up_after.value(), world_.wall());
    if (one.now.available_at == until) continue;
    if (refuses(row)) return {.result = read_result::refused, .reason = "raised", .answer = {}};
    changed.emplace_back(row, until);
  }
  std::vector<std::function<void()>> undoing;
  for (const auto& [row, until] : changed)
    write(
        row, [until = until](row_state& now) { now.available_at = until; }, undoing);
  finish(std::move(undoing), false);
  return out;
}

flow::tried<flow::waiting_answer> simulated_postgres::waiting(std::size_t shard,
                                                              const flow::waiting_events_request& what,
                                                              bool keys_only) {
  flow::tried<flow::waiting_answer> out;
  if (cannot_read(out)) return out;
  std::vector<std::size_t> found;
  for (const auto& each : what.of) {
    int count = 0;
    for (const std::size_t row : by_seq_) {
      const table_row& one = rows[row];
      if (!shows(one) || shard_of(one.of) != shard || one.now.why != exception::backing_off ||
          one.now.waits_for != each.of || one.seq <= each.after || count >= each.events)
        continue;
      ++count;
      found.push_back(row);
    }
  }
  bring(found, keys_only, out, out.answer.rows);
  for (auto& one : out.answer.rows) one.earlier_waits = waits_before(one);
  return out;
}

bool simulated_postgres::waits_before(const flow::stored_event& one) const {
  return std::any_of(rows.begin(), rows.end(), [&](const table_row& other) {
    return shows(other) && other.of == one.what.aggregate && other.seq < one.what.seq &&
           (other.now.why == exception::backing_off || other.now.why == exception::parked);
  });
}

flow::tried<flow::due_answer> simulated_postgres::due(std::size_t shard, const flow::due_cursor& after,
                                                      int most, bool keys_only) {
  flow::tried<flow::due_answer> out;
  if (cannot_read(out)) return out;
  const auto now = world_.wall();
  const auto from = with_.due_after ? after : flow::due_cursor{};
  std::vector<std::size_t> found;
  for (const std::size_t row : by_seq_) {
    const table_row& one = rows[row];
    if (!shows(one) || shard_of(one.of) != shard || one.now.status != row_status::waiting ||
        one.now.why == exception::parked || one.now.available_at == timestamp::max())
      continue;
    if (one.now.available_at > now) {
      const auto left = std::chrono::ceil<milliseconds>(one.now.available_at - now);
      out.answer.next = std::min(out.answer.next.value_or(left), left);
    } else if (std::pair(one.now.available_at, one.seq) > std::pair(from.at, from.seq)) {
      found.push_back(row);
    }
  }
  const auto place = [this](std::size_t row) { return std::pair(rows[row].now.available_at, rows[row].seq); };
  std::stable_sort(found.begin(), found.end(),
                   [&](std::size_t a, std::size_t b) { return place(a) < place(b); });
  // With ties.
  auto count = std::min(found.size(), static_cast<std::size_t>(most));
  while (count > 0 && count < found.size() && place(found[count]) == place(found[count - 1])) ++count;
  found.resize(count);
  if (!found.empty()) out.answer.last = {place(found.back()).first, place(found.back()).second};
  bring(found, keys_only, out, out.answer.rows);
  for (auto& one : out.answer.rows) one.earlier_waits = waits_before(one);
  return out;
}

flow::tried<std::vector<event_key>> simulated_postgres::look(
    const std::vector<flow::row_version>& what) const {
  flow::tried<std::vector<event_key>> out;
  if (cannot_read(out)) return out;
  for (const flow::row_version& one : what) {
    const auto row = find(one.key);
    const bool same =
        row && !is_finished(rows[*row]) && shows(rows[*row]) &&
        std::memcmp(one.place.bytes.data(), &rows[*row].now.place, sizeof rows[*row].now.place) == 0 &&
        one.written_by == rows[*row].now.written_by;
    if (same || !with_.looked_again) out.answer.push_back(one.key);
  }
  return out;
}

bool simulated_postgres::may_be_sent(std::size_t row, int content) const {
  const auto& all = rows[row].by_hand;
  for (std::size_t i = all.size(); i-- > 0;) {
    if (all[i].content == content && all[i].not_before <= world_.now()) return true;
    if (world_.now() - all[i].when > std::chrono::seconds(1)) return false;
  }
  return false;
}

// The first one comes, and others as long as they fit.
flow::tried<std::vector<flow::stored_event>> simulated_postgres::fetch(const std::vector<event_key>& keys,
                                                                       bool measured) {
  flow::tried<std::vector<flow::stored_event>> out;
  if (cannot_read(out)) return out;
  if (world_.chance(bounds_.slow_in_thousand))
    return {read_result::too_dear, false, "canceling statement", {}};
  std::int64_t bytes = 0;
  for (const event_key& key : keys) {
    const auto row = find(key);
    if (!row || is_finished(rows[*row])) continue;
    if (rows[*row].ill == ailment::unreadable)
      return {read_result::refused, false, "invalid byte sequence", {}};
    const bool huge = rows[*row].ill == ailment::huge;
    if (huge && !measured) return {read_result::too_dear, false, "canceling statement", {}};
    out.answer.push_back(stored(*row, false));
    auto& one = out.answer.back();
    one.what.id = key.id;
    one.put_off = is_put_off(rows[*row].now);
    if (huge) one.size = flow::largest_message + 1;
    bytes += one.size;
    one.withheld = huge || (out.answer.size() > 1 && bytes > bounds_.fetched_bytes);
  }
  return out;
}

flow::tried<std::vector<flow::stored_event>> simulated_postgres::left(std::size_t shard,
                                                                      const std::vector<std::int64_t>& seqs,
                                                                      bool keys_only) {
  flow::tried<std::vector<flow::stored_event>> out;
  if (cannot_read(out)) return out;
  std::vector<std::size_t> found;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const table_row& one = rows[row];
    if (shows(one) && one.now.status == row_status::pending && shard_of(one.of) == shard &&
        std::find(seqs.begin(), seqs.end(), one.seq) != seqs.end())
      found.push_back(row);
  }
  bring(found, keys_only, out, out.answer);
  return out;
}

flow::tried<flow::release_answer> simulated_postgres::release(const std::vector<flow::aggregate>& of,
                                                              int most, bool keys_only) {
  flow::tried<flow::release_answer> out;
  if (cannot_read(out)) return out;
  std::vector<std::size_t> found;
  for (const flow::aggregate which : of) {
    int count = 0;
    bool more = false;
    bool backs_off = false;
    std::vector<std::size_t> mine;
    for (const std::size_t row : by_seq_) {
      const table_row& one = rows[row];
      if (!shows(one) || one.of != which) continue;
      backs_off |= one.now.why == exception::backing_off;
      if (one.now.why != exception::parked) continue;
      if (count++ < most)
        mine.push_back(row);
      else
        more = true;
    }
    if (backs_off)
      out.answer.backs_off.push_back(which);
    else
      found.insert(found.end(), mine.begin(), mine.end());
    if (more && !backs_off) out.answer.more.push_back(which);
  }
  bring(found, keys_only, out, out.answer.rows);
  return out;
}

}  // namespace outboxd::test
