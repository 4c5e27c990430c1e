#include "app/operate/event_listing.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <span>

#include "app/command/outcome.hpp"
#include "core/text.hpp"

namespace outboxd::app {
namespace {

listing empty_listing(event_set of) {
  listing out;
  out.titles = {"id",        of == event_set::published ? "published" : "created",
                "attempts",  "event type",
                "aggregate", "last error"};
  if (of == event_set::any) out.titles.insert(out.titles.begin() + 2, "status");
  return out;
}

// Counts code points, a good approximation of terminal columns.
std::size_t width(std::string_view text) {
  std::size_t out = 0;
  for (const char c : text)
    if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) ++out;
  return out;
}

constexpr std::string_view gap = "  ";

// Joins the cells in [first, last), each padded to the width of its column.
std::string line_of(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths,
                    std::size_t first, std::size_t last) {
  std::string out;
  for (std::size_t i = first; i < last; ++i) {
    if (i > first) out += gap;
    out += cells[i];
    if (i + 1 < last) out.append(widths[i] - width(cells[i]), ' ');
  }
  const auto end = out.find_last_not_of(' ');
  return out.substr(0, end + 1);
}

std::vector<std::size_t> widths_of(const std::vector<std::vector<std::string>>& lines) {
  std::vector<std::size_t> widths(lines.front().size());
  for (const auto& cells : lines)
    for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], width(cells[i]));
  return widths;
}

// At most `most` wide. An ellipsis replaces the end of a longer text.
std::string cut(const std::string& text, std::size_t most) {
  if (width(text) <= most || most == 0) return text;
  std::size_t at = 0;
  for (std::size_t seen = 0; at < text.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80U;
    if (begins && ++seen == most) break;
  }
  return text.substr(0, at) + "…";
}

// The terminal's width in columns; nullopt if standard output is a file or a pipe.
std::optional<std::size_t> terminal_columns() {
  winsize size{};
  if (::isatty(STDOUT_FILENO) == 0 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return std::nullopt;
  return size.ws_col > 0 ? std::optional<std::size_t>(size.ws_col) : std::nullopt;
}

// The columns in the order that `listing` expects.
std::string columns_of(event_set of, part_read how) {
  return fmt::format(
      "{}), e.id, to_char({}, 'YYYY-MM-DD HH24:MI:SS\"Z\"'), {}e.attempts, {}, {}", json_of_event(how),
      time_column(of), of == event_set::any ? "e.status, " : "",
      how == part_read::whole ? "e.event_type, e.aggregate_type || '/' || e.aggregate_id" : "'', ''",
      how == part_read::numbers ? "''" : "e.last_error");
}

void add(const read_in_part& found, listing& to) {
  to.add(found.rows);
  if (found.how != part_read::whole) to.unreadable += static_cast<std::size_t>(found.rows.size());
}

struct event_key {
  std::string seq;
  std::string id;
};

outcome<std::vector<event_key>> read_keys(operator_session& session, const condition& which, int limit) {
  const auto found =
      session.execute(fmt::format("SELECT e.seq, e.id FROM {{0}}.event AS e WHERE {} ORDER BY e.seq LIMIT {}",
                                  which.sql, limit),
                      which.parameters);
  if (!found) return tl::make_unexpected(found.error());
  std::vector<event_key> out;
  out.reserve(static_cast<std::size_t>(found->size()));
  for (int row = 0; row < found->size(); ++row)
    out.push_back({std::string(found->at(row, 0)), std::string(found->at(row, 1))});
  return out;
}

// Halves the range until only single events fail, and reads those in part. An event that somebody changes
// meanwhile may be missing.
outcome<void> read_by_keys(operator_session& session, std::span<const event_key> which, event_set of,
                           listing& to) {
  std::vector<std::string> seqs;
  std::vector<std::string> ids;
  seqs.reserve(which.size());
  ids.reserve(which.size());
  for (const event_key& one : which) {
    seqs.push_back(one.seq);
    ids.push_back(one.id);
  }
  const std::vector<std::string> parameters{array_literal(seqs), array_literal(ids)};
  const auto read = [&](part_read how) {
    return session.execute(
        fmt::format("SELECT {} FROM unnest($1::bigint[], $2::uuid[]) AS k(seq, id)"
                    " JOIN {{0}}.event AS e ON e.seq = k.seq AND e.id = k.id WHERE {} ORDER BY e.seq",
                    columns_of(of, how), condition_of({}, of).sql),
        parameters);
  };
  if (which.size() > 1) {
    auto all = read(part_read::whole);
    if (all) {
      add({std::move(*all), part_read::whole}, to);
      return {};
    }
    if (!all.error().of_a_row) return tl::make_unexpected(all.error());
    const auto half = which.size() / 2;
    OUTBOXD_TRY_VOID(read_by_keys(session, which.first(half), of, to));
    return read_by_keys(session, which.subspan(half), of, to);
  }
  OUTBOXD_TRY(const auto found, read_what_can_be(read));
  add(found, to);
  return {};
}

}  // namespace

std::string json_of_event(part_read how) {
  const bool whole = how == part_read::whole;
  const auto name = [&](std::string_view column) { return whole ? column : "NULL"; };
  const auto reason = [&](std::string_view column) { return how == part_read::numbers ? "NULL" : column; };
  return fmt::format(
      "json_build_object('id', e.id, 'seq', e.seq, 'aggregate_type', {}, 'aggregate_id', {},"
      " 'event_type', {}, 'exchange', {}, 'routing_key', {}, 'status', e.status, 'attempts', e.attempts,"
      " 'available_at', e.available_at, 'created_at', e.created_at, 'published_at', e.published_at,"
      " 'last_error', {}, 'last_error_code', {}, 'header_names', {}{}",
      name("e.aggregate_type"), name("e.aggregate_id"), name("e.event_type"), name("e.exchange"),
      name("e.routing_key"), reason("e.last_error"), reason("e.last_error_code"),
      name("(SELECT coalesce(json_agg(k ORDER BY k), '[]') FROM jsonb_object_keys(e.headers) AS k)"),
      whole ? "" : ", 'unreadable', true");
}

outcome<read_in_part> read_what_can_be(const std::function<outcome<pg::rows>(part_read how)>& read) {
  auto how = part_read::whole;
  auto found = read(how);
  for (const auto less : {part_read::reason, part_read::numbers}) {
    if (found || !found.error().of_a_row) break;
    how = less;
    found = read(how);
  }
  if (!found) return tl::make_unexpected(found.error());
  return read_in_part{std::move(*found), how};
}

std::vector<std::string> table_lines(std::vector<std::vector<std::string>> rows,
                                     std::optional<std::size_t> columns) {
  std::vector<std::string> out;
  auto widths = widths_of(rows);
  const std::size_t all = widths.size();
  // Names and reasons are the last columns. The columns before them are always needed.
  const auto texts = std::max<std::size_t>(all, 6) - 3;
  const auto natural = std::accumulate(widths.begin(), widths.end(), gap.size() * (all - 1));
  if (!columns || natural <= *columns) {
    for (const auto& cells : rows) out.push_back(line_of(cells, widths, 0, all));
    return out;
  }
  for (auto& cells : rows)
    for (std::size_t i = texts; i + 1 < all; ++i) cells[i] = cut(cells[i], *columns / 4);
  widths = widths_of(rows);
  for (const auto& cells : rows) {
    out.push_back(line_of(cells, widths, 0, texts));
    out.push_back(cut(std::string(gap) + line_of(cells, widths, texts, all), *columns));
  }
  return out;
}

void listing::add(const pg::rows& found) {
  for (int i = 0; i < found.size(); ++i) {
    auto& one = rows.emplace_back();
    one.json = found.at(i, 0);
    for (int column = 1; column < found.columns(); ++column) one.cells.emplace_back(found.at(i, column));
  }
}

outcome<listing> read_listing(operator_session& session, const selectors& resolved, event_set of, int limit) {
  const auto which = condition_of(resolved, of);
  auto out = empty_listing(of);
  auto all = session.execute(fmt::format("SELECT {} FROM {{0}}.event AS e WHERE {} ORDER BY e.seq LIMIT {}",
                                         columns_of(of, part_read::whole), which.sql, limit + 1),
                             which.parameters);
  const auto most = static_cast<std::size_t>(limit);
  if (all) {
    add({std::move(*all), part_read::whole}, out);
    out.more = out.rows.size() > most;
    if (out.more) out.rows.pop_back();
    return out;
  }
  if (!all.error().of_a_row) return tl::make_unexpected(all.error());
  OUTBOXD_TRY(auto keys, read_keys(session, which, limit + 1));
  out.more = keys.size() > most;
  if (out.more) keys.pop_back();
  OUTBOXD_TRY_VOID(read_by_keys(session, keys, of, out));
  return out;
}

void print_table(const listing& what) {
  std::vector<std::vector<std::string>> lines{what.titles};
  for (const auto& one : what.rows) {
    auto& cells = lines.emplace_back();
    for (const std::string& text : one.cells) cells.push_back(escaped(text));
  }
  print_table(std::move(lines));
  if (what.unreadable > 0)
    say_error(
        fmt::format("PostgreSQL cannot read all of {} of these events, or cannot convert them to UTF-8: "
                    "their names are left out",
                    what.unreadable));
}

void print_table(std::vector<std::vector<std::string>> rows) {
  for (const auto& line : table_lines(std::move(rows), terminal_columns())) fmt::print("{}\n", line);
}

void print_json(const listing& what) {
  fmt::print("[\n");
  for (const auto& one : what.rows) fmt::print("  {}{}\n", one.json, &one == &what.rows.back() ? "" : ",");
  fmt::print("]");
}

void print_field(std::string_view title, const std::optional<std::string>& value) {
  if (value) fmt::print("{:<14}{}\n", title, escaped(*value));
}

}  // namespace outboxd::app
