// round_trip_reads: the SELECT statements of round_trip.hpp; round_trip.cpp contains the others.
#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>

#include "core/failpoint.hpp"
#include "pg/binary.hpp"
#include "store/event_columns.hpp"
#include "store/event_rows.hpp"
#include "store/round_trip.hpp"

namespace outboxd::store {
namespace {

using namespace std::chrono_literals;
using column = event_column;

// In one read, area (c) of docs/design.md scans this many transactions without first counting their rows.
constexpr flow::xid xids_at_once = 20'000;

std::optional<std::chrono::milliseconds> due_in(const nlohmann::json& head) {
  const auto found = number_in(head, "due_in");
  return found ? std::optional(std::chrono::milliseconds(*found)) : std::nullopt;
}

// Transaction IDs are sent as text, because JSON numbers are not exact above 2^63. Returns 0 if the text is
// not a number.
flow::xid xid_in(const nlohmann::json& head, const char* name) {
  flow::xid out = 0;
  const auto found = head.find(name);
  if (found == head.end() || !found->is_string()) return 0;
  const auto& text = found->get_ref<const std::string&>();
  const auto read = std::from_chars(text.data(), text.data() + text.size(), out);
  return read.ec == std::errc() && read.ptr == text.data() + text.size() ? out : 0;
}

}  // namespace

void round_trip::add(const flow::read_request& asked, flow::read_request::answer& into) {
  auto parameters = event_parameters();
  const flow::xid unasked = asked.from.seen.xmax + xids_at_once;
  parameters.insert(parameters.end(), {pg::int8(asked.from.seq), pg::xid8_array(asked.from.seen.in_progress),
                                       pg::int8(static_cast<std::int64_t>(asked.from.seen.xmax)),
                                       pg::int8(static_cast<std::int64_t>(unasked)),
                                       pg::int8(asked.seq_limit), pg::int8(asked.events),
                                       pg::boolean(asked.with_summary), pg::int8_array(what_.passing_over)});
  ask(statement::read, std::move(parameters), [this, &asked, &into](segment& got) {
    auto events = events_in(got, into, false);
    if (!events) return;
    auto& out = into.answer;
    const auto head = read_head(got.answers.back(), 0);
    const auto now = flow::snapshot::parse(head.value("snapshot", std::string()));
    if (!now) {
      broken_ =
          error{fault::permanent, "PostgreSQL has sent a snapshot that this version of outboxd cannot read"};
      return;
    }
    const auto upto = xid_in(head, "upto");
    if (upto < asked.from.seen.xmax || upto > now->xmax) {
      refuse("transactions from before the position, or after the snapshot");
      return;
    }
    out.saw_all = upto == now->xmax;
    out.now = now->cut_at(upto);
    out.xmax = now->xmax;
    out.top = number_in(head, "top");
    out.late = number_in(head, "late").value_or(0);
    out.late_low = number_in(head, "lowest_late");
    if (asked.with_summary) {
      out.next_due = due_in(head);
      out.server_time = timestamp(std::chrono::microseconds(number_in(head, "now").value_or(0)));
      out.holds = head.value("holds", true);
      if (const auto found = head.find("queue"); found != head.end() && found->is_number())
        out.queue_usage = found->get<double>();
    }
    out.rows = std::move(*events);
    const auto by_seq = [](const auto& a, const auto& b) { return a.what.seq < b.what.seq; };
    if (out.late > 0) std::stable_sort(out.rows.begin(), out.rows.end(), by_seq);
    if (!std::is_sorted(out.rows.begin(), out.rows.end(), by_seq)) {
      refuse("events that are not in the order of their seq");
      return;
    }
    if (!out.rows.empty()) failpoint("claimed");
  });
}

void round_trip::add(const flow::walk_request& asked, flow::walk_request::answer& into) {
  add_walk(asked.from, into);
}

void round_trip::add(const flow::check_request& asked, flow::check_request::answer& into) {
  add_walk(asked.from, into);
}

void round_trip::add_walk(std::int64_t from, flow::tried<flow::walk_answer>& into) {
  auto parameters = events_of(of_.largest);
  append(parameters, {pg::int8(from), pg::int8_array(what_.passing_over)});
  ask(statement::walk, std::move(parameters), [this, &into](segment& got) {
    static constexpr std::array cells{pg::number_cell, pg::boolean_cell, pg::boolean_cell};
    if (!is_read(got, {.cells = cells, .least_rows = 1, .most_rows = 1}, into)) return;
    const pg::rows& rows = got.answers.back();
    into.answer = {pg::read_int8(rows.at(0, 0)), pg::read_bool(rows.at(0, 1)), pg::read_bool(rows.at(0, 2))};
  });
}

void round_trip::add(const flow::due_request& asked, flow::due_request::answer& into) {
  auto parameters = event_parameters();
  parameters.insert(parameters.end(),
                    {pg::timestamptz(asked.after.at), pg::int8(asked.after.seq), pg::int8(asked.events)});
  ask(statement::due, std::move(parameters), [this, &into](segment& got) {
    auto events = events_in(got, into);
    if (!events) return;
    const pg::rows& rows = got.answers.back();
    auto& out = into.answer;
    out.rows = std::move(*events);
    if (const int last = rows.size() - 1; !out.rows.empty())
      out.last = {pg::read_timestamp(rows.at(last, static_cast<int>(column::available_at))),
                  pg::read_int8(rows.at(last, static_cast<int>(column::seq)))};
    out.next = due_in(read_head(rows, 0));
  });
}

void round_trip::add(const flow::laggards_request& asked, flow::laggards_request::answer& into) {
  std::vector<std::int64_t> aggregates, after;
  for (const flow::left_behind& one : asked.of) {
    aggregates.push_back(one.which);
    after.push_back(one.after);
  }
  auto parameters = event_parameters();
  append(parameters, {pg::int8_array(aggregates), pg::int8_array(after), pg::int8(asked.seq_span),
                      pg::int8(asked.events)});
  ask(statement::laggards, std::move(parameters), [this, &asked, &into](segment& got) {
    auto events = events_in(got, into);
    if (!events) return;
    const auto& of = asked.of;
    const auto is_asked_for = [&of](flow::aggregate which) {
      return std::ranges::find(of, which, &flow::left_behind::which) != of.end();
    };
    const pg::rows& rows = got.answers.back();
    auto& out = into.answer;
    for (int row = 0; row < rows.size() && rows.is_null(row, static_cast<int>(column::id)); ++row) {
      const auto head = read_head(rows, row);
      out.looked_to.emplace_back(number_in(head, "hash").value_or(0), number_in(head, "looked_to"));
    }
    const bool fits =
        std::ranges::all_of(out.looked_to, is_asked_for, [](const auto& one) { return one.first; }) &&
        std::ranges::all_of(*events, is_asked_for, [](const auto& one) { return one.what.aggregate; });
    if (!fits) {
      refuse("an event of another aggregate");
      return;
    }
    out.rows = std::move(*events);
    std::ranges::stable_sort(out.rows, {}, [](const auto& one) { return one.what.seq; });
  });
}

void round_trip::add(const flow::look_request& asked, flow::look_request::answer& into) {
  std::vector<event_key> keys;
  std::vector<row_place> places;
  std::vector<std::uint32_t> writers;
  for (const flow::row_version& one : asked.rows) {
    keys.push_back(one.key);
    places.push_back(one.place);
    writers.push_back(one.written_by);
  }
  auto parameters = key_parameters(keys);
  parameters.insert(parameters.begin() + 1, pg::tid_array(places));
  parameters.push_back(pg::xid_array(writers));
  ask(statement::look, std::move(parameters), [this, keys = std::move(keys), &into](segment& got) {
    if (!is_answered(got, into)) return;
    const auto same = numbers_in(got.answers.back(), keys.size());
    if (!same) return;
    for (std::size_t i = 0; i < keys.size(); ++i)
      if ((*same)[i]) into.answer.push_back(keys[i]);
  });
}

// PostgreSQL can interrupt a statement only between the conversions of two values to text. Statements that
// measure sizes first may take longer.
void round_trip::add(const flow::fetch_request& asked, flow::fetch_request::answer& into) {
  limit_time(asked.measured ? of_.patience / 2 : of_.patience / 20);
  auto parameters = events_of(flow::largest_message);
  append(parameters, key_parameters(asked.keys));
  parameters.push_back(pg::int8(of_.together));
  const auto statement = asked.measured ? statement::by_key_measured : statement::by_key;
  ask(statement, std::move(parameters), [this, &asked, &into](segment& got) {
    auto events = events_in(got, into);
    if (!events) return;
    std::vector<event_key> missing = asked.keys;
    std::sort(missing.begin(), missing.end());
    for (const flow::stored_event& one : *events) {
      const auto found = std::lower_bound(missing.begin(), missing.end(), one.what.key());
      if (found == missing.end() || *found != one.what.key()) {
        refuse("an event twice, or one that was not asked for");
        return;
      }
      missing.erase(found);
    }
    for (flow::stored_event& one : *events) one.put_off = std::exchange(one.earlier_waits, false);
    into.answer = std::move(*events);
  });
}

void round_trip::add(const flow::left_request& asked, flow::left_request::answer& into) {
  auto parameters = event_parameters();
  parameters.push_back(pg::int8_array(asked.seqs));
  ask(statement::unsettled, std::move(parameters), [this, &into](segment& got) {
    if (auto events = events_in(got, into)) into.answer = std::move(*events);
  });
}

void round_trip::add(const flow::release_request& asked, flow::release_request::answer& into) {
  auto parameters = event_parameters();
  parameters.insert(parameters.end(), {pg::int8_array(asked.of), pg::int8(asked.events)});
  ask(statement::released, std::move(parameters), [this, &asked, &into](segment& got) {
    auto events = events_in(got, into);
    if (!events) return;
    const pg::rows& rows = got.answers.back();
    auto& out = into.answer;
    for (int row = 0; row < rows.size() && rows.is_null(row, static_cast<int>(column::id)); ++row) {
      const auto head = read_head(rows, row);
      const auto hash = number_in(head, "hash").value_or(0);
      if (head.value("backs_off", false)) out.backs_off.push_back(hash);
      if (head.value("more", false)) out.more.push_back(hash);
    }
    for (const flow::stored_event& one : *events)
      if (std::ranges::find(asked.of, one.what.aggregate) == asked.of.end()) {
        refuse("an event of another aggregate");
        return;
      }
    out.rows = std::move(*events);
  });
}

void round_trip::add(const flow::held_request& asked, flow::held_request::answer& into) {
  constexpr int page = 500;
  ask(statement::held, {pg::int8(asked.after)}, [this, &into](segment& got) {
    static constexpr std::array cells{pg::number_cell, pg::boolean_cell, pg::cell_shape{.bytes = 4}};
    if (!is_read(got, {.cells = cells, .most_rows = page}, into)) return;
    const pg::rows& rows = got.answers.back();
    for (int row = 0; row < rows.size(); ++row) {
      const auto hash = pg::read_int8(rows.at(row, 0));
      if ((hash & (of_.shards - 1)) == of_.shard)
        into.answer.rows.push_back({hash, pg::read_bool(rows.at(row, 1))});
      if (row + 1 == page) into.answer.upto = hash;
    }
  });
}

void round_trip::add(const flow::pauses_request&, flow::pauses_request::answer& into) {
  ask(statement::pauses, {}, [this, &into](segment& got) {
    static constexpr std::array cells{pg::text_cell, pg::text_cell, pg::text_or_null_cell,
                                      pg::text_or_null_cell, pg::number_or_null_cell};
    if (!is_read(got, {.cells = cells}, into)) return;
    const pg::rows& rows = got.answers.back();
    auto& out = into.answer;
    for (int row = 0; row < rows.size(); ++row) {
      const auto words = [&](int cell) { return std::string(rows.find(row, cell).value_or("")); };
      out.in_force.push_back({flow::part_named(rows.at(row, 0)), words(1), words(2), words(3)});
      if (rows.is_null(row, 4)) continue;
      const auto left = std::max(std::chrono::milliseconds(pg::read_int8(rows.at(row, 4))), 1ms);
      out.next_end = std::min(out.next_end.value_or(left), left);
    }
  });
}

void round_trip::add(const flow::resume_request& asked, flow::resume_request::answer& into) {
  auto parameters = event_parameters();
  std::vector<std::optional<std::string>> event_types, aggregate_types;
  for (const flow::pause& one : asked.paused) {
    if (one.part == flow::paused_part::event_type) event_types.emplace_back(one.name);
    if (one.part == flow::paused_part::aggregate_type) aggregate_types.emplace_back(one.name);
  }
  parameters.insert(parameters.end(), {pg::int8(asked.after), pg::int8(asked.events),
                                       pg::text_array(event_types), pg::text_array(aggregate_types)});
  ask(statement::resumed, std::move(parameters), [this, &into](segment& got) {
    auto events = events_in(got, into);
    if (!events) return;
    into.answer = {std::move(*events), number_in(read_head(got.answers.back(), 0), "looked_to")};
  });
}

void round_trip::add(const flow::waiting_events_request& asked, flow::waiting_events_request::answer& into) {
  std::vector<std::int64_t> destinations, after, events;
  for (const auto& one : asked.of) {
    destinations.push_back(static_cast<std::int64_t>(one.of));
    after.push_back(one.after);
    events.push_back(one.events);
  }
  auto parameters = event_parameters();
  append(parameters, {pg::int8_array(destinations), pg::int8_array(after), pg::int8_array(events)});
  ask(statement::waiting, std::move(parameters), [this, &asked, &into](segment& got) {
    auto found = events_in(got, into);
    if (!found) return;
    const bool fits = std::ranges::all_of(*found, [&asked](const flow::stored_event& one) {
      return std::ranges::find(asked.of, one.waits_for, &flow::waiting_events_request::look_up::of) !=
             asked.of.end();
    });
    if (!fits) {
      refuse("an event that waits for another destination");
      return;
    }
    into.answer.rows = std::move(*found);
  });
}

void round_trip::add(const flow::dead_request& asked, flow::dead_request::answer& into) {
  constexpr int page = 2000;
  auto parameters = events_of(of_.largest);
  parameters.push_back(pg::int8(asked.after));
  ask(statement::dead, std::move(parameters), [this, &into](segment& got) {
    static constexpr std::array cells{pg::number_cell, pg::number_cell};
    if (!is_read(got, {.cells = cells}, into)) return;
    const pg::rows& rows = got.answers.back();
    for (int row = 0; row < rows.size(); ++row) into.answer.of.push_back(pg::read_int8(rows.at(row, 0)));
    if (rows.size() >= page) into.answer.upto = pg::read_int8(rows.at(rows.size() - 1, 1));
  });
}

}  // namespace outboxd::store
