// history: the checks, and the sentences about what they find.
#include "support/history.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <new>
#include <utility>

namespace outboxd::test {
namespace {

constexpr std::size_t offenders_of_a_kind = 3;
using differences = std::vector<std::string>;

template <class T>
std::string shown(const T& value) {
  return fmt::format("{}", value);
}
template <class T>
std::string shown(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : "absent";
}

template <class Got, class Wanted>
void compare(differences& found, const char* what, const Got& got, const Wanted& wanted) {
  if (got != wanted) found.push_back(fmt::format("{} is {}, not {}", what, shown(got), shown(wanted)));
}

void compare_headers(differences& found, const properties& got, const committed_event& row) {
  auto wanted = nlohmann::json::parse(row.headers, nullptr, /*allow_exceptions=*/false);
  if (!wanted.is_object()) {
    found.push_back("the row's headers cannot be read as a JSON object, yet it was delivered");
    return;
  }
  wanted.erase("x-death");  // RabbitMQ's own: a relay leaves it out
  wanted["aggregate_type"] = row.aggregate_type;
  wanted["aggregate_id"] = row.aggregate_id;
  wanted["seq"] = row.seq;
  const auto occurred_at = got.headers.find("occurred_at");
  wanted["occurred_at"] = row.occurred_at;
  if (row.occurred_at.empty() && occurred_at != got.headers.end()) wanted["occurred_at"] = *occurred_at;
  if (got.headers != wanted) {
    found.push_back("headers differ: " + nlohmann::json::diff(wanted, got.headers).dump());
  }
}

differences compare_with_row(const delivery& got, const committed_event& row, const expectations& expected) {
  differences found;
  if (got.body != row.body)
    found.push_back(fmt::format("its body of {} bytes is not the row's", got.body.size()));
  compare(found, "exchange", got.exchange, row.exchange.value_or(expected.exchange));
  compare(found, "routing key", got.routing_key, row.routing_key.value_or(row.event_type));
  compare(found, "type", got.properties.type, row.event_type);
  compare(found, "app_id", got.properties.app_id, std::string{"outboxd"});
  compare(found, "content_type", got.properties.content_type, expected.content_type);
  compare(found, "delivery_mode", got.properties.delivery_mode, 2);
  if (!row.occurred_at.empty())
    compare(found, "timestamp", got.properties.timestamp.value_or(0), row.created_at);
  compare_headers(found, got.properties, row);
  return found;
}

std::string bytes_of(const std::string& bytea) {
  std::size_t size = 0;
  const std::unique_ptr<unsigned char, decltype(&PQfreemem)> bytes{
      PQunescapeBytea(reinterpret_cast<const unsigned char*>(bytea.c_str()), &size), &PQfreemem};
  if (!bytes) throw std::bad_alloc{};
  return {bytes.get(), bytes.get() + size};
}

void offend(history_report& report, std::size_t count, std::string sentence) {
  if (count <= offenders_of_a_kind) report.offenders.push_back(std::move(sentence));
}

}  // namespace

std::vector<committed_event> committed_events(database& session, const std::string& schema) {
  const auto type = session.value(
      "SELECT format_type(atttypid, NULL) FROM pg_attribute WHERE attname = 'payload'"
      " AND attrelid = format('%I.event', $1::text)::regclass",
      {schema});
  const auto* payload = type == "bytea" ? "payload" : "convert_to(payload::text, 'UTF8')";
  const auto from = session.value("SELECT format('%I.event', $1::text)", {schema});
  const auto rows = session.exec(fmt::format(
      "SELECT id, seq, aggregate_type, aggregate_id, event_type, status, {},"
      " coalesce(headers, '{{}}'), exchange, routing_key, CASE WHEN created_at >= 'epoch' AND created_at < "
      "'9999-12-31' THEN floor(extract(epoch FROM created_at)) ELSE 0 END::bigint,"
      " CASE WHEN created_at >= '0001-01-02' AND created_at < '9999-12-31'"
      " THEN to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') ELSE '' END,"
      " coalesce(last_error_code, '')"
      " FROM {} ORDER BY seq",
      payload, from));
  std::vector<committed_event> events;
  events.reserve(rows.size());
  for (const auto& column : rows) {
    events.push_back({*column[0], std::stoll(*column[1]), *column[2], *column[3], *column[4], *column[5],
                      bytes_of(*column[6]), *column[7], column[8], column[9], std::stoull(*column[10]),
                      *column[11], *column[12]});
  }
  return events;
}

void history::record(delivery message) {
  const std::lock_guard lock{mutex_};
  ++deliveries_;
  const auto id = message.message_id();
  const auto known = events_.find(id);
  if (known == events_.end()) {
    order_.push_back(id);
    events_.emplace(id, record_of_event{std::move(message)});
    return;
  }
  auto& event = known->second;
  ++(message.redelivered ? event.redelivered : event.duplicates);
  const auto& first = event.first;
  if (message.body != first.body || message.properties != first.properties ||
      message.exchange != first.exchange || message.routing_key != first.routing_key)
    event.others.push_back(std::move(message));
}

std::size_t history::deliveries() const {
  const std::lock_guard lock{mutex_};
  return deliveries_;
}

std::size_t history::events() const {
  const std::lock_guard lock{mutex_};
  return order_.size();
}

bool history::delivered(const std::string& id) const {
  const std::lock_guard lock{mutex_};
  return events_.contains(id);
}

std::size_t history::times(const std::string& id) const {
  const std::lock_guard lock{mutex_};
  const auto known = events_.find(id);
  return known == events_.end() ? 0 : 1 + known->second.duplicates + known->second.redelivered;
}

std::vector<std::string> history::order() const {
  const std::lock_guard lock{mutex_};
  return order_;
}

history_report history::check(const std::vector<committed_event>& committed,
                              const expectations& expected) const {
  const std::lock_guard lock{mutex_};
  history_report report;
  report.committed = committed.size();
  report.delivered = order_.size();

  std::unordered_map<std::string, const committed_event*> rows;
  for (const auto& row : committed) {
    rows.emplace(row.id, &row);
    if (row.status == "dead") ++report.dead;
    if (row.status == "dead" || events_.contains(row.id)) continue;
    offend(report, ++report.lost,
           fmt::format("lost: event {} ({} of {} {}) is {} and was never delivered", row.id, row.event_type,
                       row.aggregate_type, row.aggregate_id, row.status));
  }

  std::map<std::pair<std::string, std::string>, std::int64_t> latest;  // seq per aggregate
  for (const auto& id : order_) {
    const auto& event = events_.at(id);
    report.redelivered += event.redelivered;
    if (event.duplicates > 0) {
      const bool few = report.duplicates < offenders_of_a_kind;
      report.duplicates += event.duplicates;
      if (few)
        report.offenders.push_back(
            fmt::format("duplicate: event {} came {} times too often", id, event.duplicates));
    }
    const auto found = rows.find(id);
    if (found == rows.end()) {
      offend(report, ++report.phantom, fmt::format("phantom: message {} was never committed", id));
      continue;
    }
    const auto& row = *found->second;
    const bool twice_given =
        std::any_of(expected.unordered_seqs.begin(), expected.unordered_seqs.end(),
                    [&](const auto& one) { return one.first <= row.seq && row.seq <= one.second; });
    const bool changed = expected.changed.contains(id);
    if (!twice_given && !changed && (expected.unordered.empty() || row.event_type != expected.unordered)) {
      auto& last = latest.try_emplace({row.aggregate_type, row.aggregate_id}, row.seq).first->second;
      if (row.seq < last) {
        offend(report, ++report.out_of_order,
               fmt::format("out of order: event {} of {} {} with seq {} first came after seq {}", id,
                           row.aggregate_type, row.aggregate_id, row.seq, last));
      }
      last = std::max(last, row.seq);
    }

    auto wrong = compare_with_row(event.first, row, expected);
    const auto is_right = [&](const delivery& one) { return compare_with_row(one, row, expected).empty(); };
    if (changed && (row.failure == "changed_after_send" || std::ranges::any_of(event.others, is_right)))
      continue;
    if (!changed && !event.others.empty()) wrong.emplace_back("its copies are not identical");
    if (!wrong.empty()) {
      offend(report, ++report.mismatches, fmt::format("mismatch: event {}: {}", id, fmt::join(wrong, "; ")));
    }
  }
  return report;
}

std::string history_report::words() const {
  auto text = fmt::format(
      "{} committed, {} delivered, {} dead, {} lost, {} phantom, {} duplicates, {} redelivered, {} out of "
      "order, "
      "{} mismatches",
      committed, delivered, dead, lost, phantom, duplicates, redelivered, out_of_order, mismatches);
  for (const auto& offender : offenders) text += "\n  " + offender;
  return text;
}

}  // namespace outboxd::test
