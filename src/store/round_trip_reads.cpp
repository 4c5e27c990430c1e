// The statements that read: the other part of round_trip.hpp.
#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>

#include "core/failpoint.hpp"
#include "pg/binary.hpp"
#include "store/event_rows.hpp"
#include "store/round_trip.hpp"

namespace outboxd::store {
namespace {

using namespace std::chrono_literals;
using column = event_column;

// So many transactions (c) of docs/design.md goes through in one read without asking how many rows they have.
constexpr flow::xid xids_at_once = 20'000;

std::optional<std::chrono::milliseconds> due_in(const nlohmann::json& head) {
  const auto found = number_in(head, "due_in");
  return found ? std::optional(std::chrono::milliseconds(*found)) : std::nullopt;
}

// Beyond 2^63 a number of JSON would not do. 0: it is none.
flow::xid xid_in(const nlohmann::json& head, const char* name) {
  flow::xid out = 0;
  const auto found = head.find(name);
  if (found == head.end() || !found->is_string()) return 0;
  const auto& text = found->get_ref<const std::string&>();
  const auto read = std::from_chars(text.data(), text.data() + text.size(), out);
  return read.ec == std::errc() && read.ptr == text.data() + text.size() ? out : 0;
}

flow::paused_part part_of(std::string_view name) {
  if (name == "event_type") return flow::paused_part::event_type;
  if (name == "aggregate_type") return flow::paused_part::aggregate_type;
  return flow::paused_part::everything;
}

}  // namespace

void round_trip::add_read() {
  const auto& asked = *what_.read;
  auto parameters = event_parameters();
  const flow::xid unasked = asked.from.seen.xmax + xids_at_once;
  parameters.insert(parameters.end(), {pg::int8(asked.from.seq), pg::xid8_array(asked.from.seen.in_progress),
                                       pg::int8(static_cast<std::int64_t>(asked.from.seen.xmax)),
                                       pg::int8(static_cast<std::int64_t>(unasked)),
                                       pg::int8(asked.seq_limit), pg::int8(asked.events),
                                       pg::boolean(asked.with_summary), pg::int8_array(what_.passing_over)});
  add(statement::read, std::move(parameters), [this](segment& got) {
    auto events = events_in(got, out_.read, false);
    if (!events) return;
    auto& into = out_.read.answer;
    const auto head = read_head(got.answers.back(), 0);
    const auto now = flow::snapshot::parse(head.value("snapshot", std::string()));
    if (!now) {
      broken_ =
          error{fault::permanent, "PostgreSQL has sent a snapshot that this version of outboxd cannot read"};
      return;
    }
    const auto upto = xid_in(head, "upto");
    if (upto < what_.read->from.seen.xmax || upto > now->xmax) {
      refuse("transactions from before the position, or after the snapshot");
      return;
    }
    into.saw_all = upto == now->xmax;
    into.now = now->cut_at(upto);
    into.xmax = now->xmax;
    into.top = number_in(head, "top");
    into.late = number_in(head, "late").value_or(0);
    into.late_low = number_in(head, "lowest_late");
    if (what_.read->with_summary) {
      into.next_due = due_in(head);
      into.server_time = timestamp(std::chrono::microseconds(number_in(head, "now").value_or(0)));
      into.holds = head.value("holds", true);
      if (const auto found = head.find("queue"); found != head.end() && found->is_number())
        into.queue_usage = found->get<double>();
    }
    into.rows = std::move(*events);
    const auto by_seq = [](const auto& a, const auto& b) { return a.what.seq < b.what.seq; };
    if (into.late > 0) std::stable_sort(into.rows.begin(), into.rows.end(), by_seq);
    if (!std::is_sorted(into.rows.begin(), into.rows.end(), by_seq)) {
      refuse("events that are not in the order of their seq");
      return;
    }
    if (!into.rows.empty()) failpoint("claimed");
  });
}

void round_trip::add_walk(std::int64_t from, flow::tried<flow::walk_answer>& into) {
  auto parameters = events_of(of_.largest);
  append(parameters, {pg::int8(from), pg::int8_array(what_.passing_over)});
  add(statement::walk, std::move(parameters), [this, &into](segment& got) {
    static constexpr std::array cells{pg::number_cell, pg::boolean_cell, pg::boolean_cell};
    if (!is_read(got, {.cells = cells, .least_rows = 1, .most_rows = 1}, into)) return;
    const pg::rows& rows = got.answers.back();
    into.answer = {pg::read_int8(rows.at(0, 0)), pg::read_bool(rows.at(0, 1)), pg::read_bool(rows.at(0, 2))};
  });
}

void round_trip::add_due() {
  auto parameters = event_parameters();
  parameters.insert(parameters.end(),
                    {pg::timestamptz(what_.due->at), pg::int8(what_.due->seq), pg::int8(what_.due_events)});
  add(statement::due, std::move(parameters), [this](segment& got) {
    auto events = events_in(got, out_.due);
    if (!events) return;
    const pg::rows& rows = got.answers.back();
    auto& into = out_.due.answer;
    into.rows = std::move(*events);
    if (const int last = rows.size() - 1; !into.rows.empty())
      into.last = {pg::read_timestamp(rows.at(last, static_cast<int>(column::available_at))),
                   pg::read_int8(rows.at(last, static_cast<int>(column::seq)))};
    into.next = due_in(read_head(rows, 0));
  });
}

void round_trip::add_laggards() {
  const auto& asked = *what_.laggards;
  std::vector<std::int64_t> aggregates, after;
  for (const flow::left_behind& one : asked.of) {
    aggregates.push_back(one.which);
    after.push_back(one.after);
  }
  auto parameters = event_parameters();
  append(parameters, {pg::int8_array(aggregates), pg::int8_array(after), pg::int8(asked.seq_span),
                      pg::int8(asked.events)});
  add(statement::laggards, std::move(parameters), [this](segment& got) {
    auto events = events_in(got, out_.laggards);
    if (!events) return;
    const auto& of = what_.laggards->of;
    const auto is_asked_for = [&of](flow::aggregate which) {
      return std::ranges::find(of, which, &flow::left_behind::which) != of.end();
    };
    const pg::rows& rows = got.answers.back();
    auto& into = out_.laggards.answer;
    for (int row = 0; row < rows.size() && rows.is_null(row, static_cast<int>(column::id)); ++row) {
      const auto head = read_head(rows, row);
      into.looked_to.emplace_back(number_in(head, "hash").value_or(0), number_in(head, "looked_to"));
    }
    const bool fits =
        std::ranges::all_of(into.looked_to, is_asked_for, [](const auto& one) { return one.first; }) &&
        std::ranges::all_of(*events, is_asked_for, [](const auto& one) { return one.what.aggregate; });
    if (!fits) {
      refuse("an event of another aggregate");
      return;
    }
    into.rows = std::move(*events);
    std::ranges::stable_sort(into.rows, {}, [](const auto& one) { return one.what.seq; });
  });
}

void round_trip::add_look() {
  std::vector<event_key> keys;
  std::vector<row_place> places;
  std::vector<std::uint32_t> writers;
  for (const flow::row_version& one : what_.looks) {
    keys.push_back(one.key);
    places.push_back(one.place);
    writers.push_back(one.written_by);
  }
  auto parameters = key_parameters(keys);
  parameters.insert(parameters.begin() + 1, pg::tid_array(places));
  parameters.push_back(pg::xid_array(writers));
  add(statement::look, std::move(parameters), [this, keys = std::move(keys)](segment& got) {
    if (!is_answered(got, out_.looked)) return;
    const auto same = numbers_in(got.answers.back(), keys.size());
    if (!same) return;
    for (std::size_t i = 0; i < keys.size(); ++i)
      if ((*same)[i]) out_.looked.answer.push_back(keys[i]);
  });
}

// PostgreSQL does not stop in the middle of a text, but before the next one. What is measured first may take
// its time.
void round_trip::add_fetch() {
  limit_time(what_.fetch_is_measured ? of_.patience / 2 : of_.patience / 20);
  auto parameters = events_of(flow::largest_message);
  append(parameters, key_parameters(what_.fetch));
  parameters.push_back(pg::int8(of_.together));
  const auto statement = what_.fetch_is_measured ? statement::by_key_measured : statement::by_key;
  add(statement, std::move(parameters), [this](segment& got) {
    auto events = events_in(got, out_.fetched);
    if (!events) return;
    std::vector<event_key> asked = what_.fetch;
    std::sort(asked.begin(), asked.end());
    for (const flow::stored_event& one : *events) {
      const auto found = std::lower_bound(asked.begin(), asked.end(), one.what.key());
      if (found == asked.end() || *found != one.what.key()) {
        refuse("an event twice, or another one");
        return;
      }
      asked.erase(found);
    }
    for (flow::stored_event& one : *events) one.put_off = std::exchange(one.earlier_waits, false);
    out_.fetched.answer = std::move(*events);
  });
}

void round_trip::add_left() {
  auto parameters = event_parameters();
  parameters.push_back(pg::int8_array(what_.left));
  add(statement::unsettled, std::move(parameters), [this](segment& got) {
    if (auto events = events_in(got, out_.left)) out_.left.answer = std::move(*events);
  });
}

void round_trip::add_released() {
  auto parameters = event_parameters();
  parameters.insert(parameters.end(), {pg::int8_array(what_.release), pg::int8(what_.release_events)});
  add(statement::released, std::move(parameters), [this](segment& got) {
    auto events = events_in(got, out_.released);
    if (!events) return;
    const pg::rows& rows = got.answers.back();
    auto& into = out_.released.answer;
    for (int row = 0; row < rows.size() && rows.is_null(row, static_cast<int>(column::id)); ++row) {
      const auto head = read_head(rows, row);
      const auto hash = number_in(head, "hash").value_or(0);
      if (head.value("backs_off", false)) into.backs_off.push_back(hash);
      if (head.value("more", false)) into.more.push_back(hash);
    }
    const auto& asked = what_.release;
    for (const flow::stored_event& one : *events)
      if (std::find(asked.begin(), asked.end(), one.what.aggregate) == asked.end()) {
        refuse("an event of another aggregate");
        return;
      }
    into.rows = std::move(*events);
  });
}

void round_trip::add_held() {
  constexpr int page = 500;
  add(statement::held, {pg::int8(*what_.blocked_after)}, [this](segment& got) {
    static constexpr std::array cells{pg::number_cell, pg::boolean_cell, pg::cell_shape{.bytes = 4}};
    if (!is_read(got, {.cells = cells, .most_rows = page}, out_.blocked)) return;
    const pg::rows& rows = got.answers.back();
    for (int row = 0; row < rows.size(); ++row) {
      const auto hash = pg::read_int8(rows.at(row, 0));
      if ((hash & (of_.shards - 1)) == of_.shard)
        out_.blocked.answer.rows.push_back({hash, pg::read_bool(rows.at(row, 1))});
      if (row + 1 == page) out_.blocked.answer.upto = hash;
    }
  });
}

void round_trip::add_pauses() {
  add(statement::pauses, {}, [this](segment& got) {
    static constexpr std::array cells{pg::text_cell, pg::text_cell, pg::text_or_null_cell,
                                      pg::text_or_null_cell, pg::number_or_null_cell};
    if (!is_read(got, {.cells = cells}, out_.pauses)) return;
    const pg::rows& rows = got.answers.back();
    auto& into = out_.pauses.answer;
    for (int row = 0; row < rows.size(); ++row) {
      const auto words = [&](int cell) { return std::string(rows.find(row, cell).value_or("")); };
      into.in_force.push_back({part_of(rows.at(row, 0)), words(1), words(2), words(3)});
      if (rows.is_null(row, 4)) continue;
      const auto left = std::max(std::chrono::milliseconds(pg::read_int8(rows.at(row, 4))), 1ms);
      into.next_end = std::min(into.next_end.value_or(left), left);
    }
  });
}

void round_trip::add_resumed() {
  auto parameters = event_parameters();
  std::vector<std::optional<std::string>> event_types, aggregate_types;
  for (const flow::pause& one : what_.resume->paused) {
    if (one.part == flow::paused_part::event_type) event_types.emplace_back(one.name);
    if (one.part == flow::paused_part::aggregate_type) aggregate_types.emplace_back(one.name);
  }
  parameters.insert(parameters.end(), {pg::int8(what_.resume->after), pg::int8(what_.resume->events),
                                       pg::text_array(event_types), pg::text_array(aggregate_types)});
  add(statement::resumed, std::move(parameters), [this](segment& got) {
    auto events = events_in(got, out_.resumed);
    if (!events) return;
    out_.resumed.answer = {std::move(*events), number_in(read_head(got.answers.back(), 0), "looked_to")};
  });
}

void round_trip::add_dead() {
  constexpr int page = 2000;
  auto parameters = events_of(of_.largest);
  parameters.push_back(pg::int8(*what_.dead_after));
  add(statement::dead, std::move(parameters), [this](segment& got) {
    static constexpr std::array cells{pg::number_cell, pg::number_cell};
    if (!is_read(got, {.cells = cells}, out_.dead)) return;
    const pg::rows& rows = got.answers.back();
    for (int row = 0; row < rows.size(); ++row) out_.dead.answer.of.push_back(pg::read_int8(rows.at(row, 0)));
    if (rows.size() >= page) out_.dead.answer.upto = pg::read_int8(rows.at(rows.size() - 1, 1));
  });
}

}  // namespace outboxd::store
