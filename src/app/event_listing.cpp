#include "app/event_listing.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>

namespace outboxd::app {
namespace {

enum column : int { json, id, time, attempts, event_type, aggregate, last_error };

std::vector<std::string> titles(event_set of) {
  return {"id",        of == event_set::dead ? "created" : "published", "attempts", "event type", "aggregate",
          "last error"};
}

// Code points, which is near enough to columns.
std::size_t width(std::string_view text) {
  std::size_t out = 0;
  for (const char c : text)
    if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) ++out;
  return out;
}

constexpr std::string_view gap = "  ";

// The cells from `first` to before `last`, each as wide as its column.
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

// At most so wide, the end of a longer text replaced by an ellipsis.
std::string cut(const std::string& text, std::size_t most) {
  if (width(text) <= most || most == 0) return text;
  std::size_t at = 0;
  for (std::size_t seen = 0; at < text.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80U;
    if (begins && ++seen == most) break;
  }
  return text.substr(0, at) + "…";
}

// The columns of the terminal; none where the table goes to a file or a pipe.
std::optional<std::size_t> terminal_columns() {
  winsize size{};
  if (::isatty(STDOUT_FILENO) == 0 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return std::nullopt;
  return size.ws_col > 0 ? std::optional<std::size_t>(size.ws_col) : std::nullopt;
}

}  // namespace

std::string printable(std::string_view text) {
  constexpr unsigned char first_printable = 0x20;
  constexpr unsigned char rub_out = 0x7F;
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0U;
    if (c == 0xC2U && next >= 0x80U && next < 0xA0U) {  // a control character of Latin-1 in UTF-8
      out += fmt::format("\\u{:04x}", next);
      ++i;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c < first_printable || c == rub_out) {
      out += fmt::format("\\x{:02x}", c);
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

std::string_view json_of_event() {
  return "json_build_object('id', e.id, 'seq', e.seq, 'aggregate_type', e.aggregate_type,"
         " 'aggregate_id', e.aggregate_id, 'event_type', e.event_type, 'exchange', e.exchange,"
         " 'routing_key', e.routing_key, 'status', e.status, 'attempts', e.attempts,"
         " 'available_at', e.available_at, 'created_at', e.created_at, 'published_at', e.published_at,"
         " 'last_error', e.last_error, 'last_error_code', e.last_error_code, 'header_names',"
         " (SELECT coalesce(json_agg(k ORDER BY k), '[]') FROM jsonb_object_keys(e.headers) AS k)";
}

std::vector<std::string> table_lines(std::vector<std::vector<std::string>> rows,
                                     std::optional<std::size_t> columns) {
  constexpr std::size_t texts = event_type - id;  // before it are columns that nobody can do without
  std::vector<std::string> out;
  auto widths = widths_of(rows);
  const std::size_t all = widths.size();
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

outcome<event_listing> read_listing(operator_session& session, const selectors& resolved, event_set of,
                                    int limit) {
  const auto which = condition_of(resolved, of);
  auto rows =
      session.execute(fmt::format("SELECT {}), e.id, to_char({}, 'YYYY-MM-DD HH24:MI:SS\"Z\"'), e.attempts,"
                                  " e.event_type, e.aggregate_type || '/' || e.aggregate_id, e.last_error"
                                  " FROM {{0}}.event AS e WHERE {} ORDER BY e.seq LIMIT {}",
                                  json_of_event(), time_column(of), which.sql, limit + 1),
                      which.parameters);
  if (!rows) return tl::make_unexpected(rows.error());
  const int found = rows->size();
  return event_listing{std::move(*rows), of, std::min(found, limit), found > limit};
}

void print_table(const event_listing& events) {
  std::vector<std::vector<std::string>> lines{titles(events.of)};
  for (int row = 0; row < events.shown; ++row) {
    auto& cells = lines.emplace_back();
    for (int at = id; at <= last_error; ++at) cells.push_back(printable(events.rows.at(row, at)));
  }
  print_rows(std::move(lines));
}

void print_rows(std::vector<std::vector<std::string>> rows) {
  for (const auto& line : table_lines(std::move(rows), terminal_columns())) fmt::print("{}\n", line);
}

void print_json(const event_listing& events) {
  for (int row = 0; row < events.shown; ++row)
    fmt::print("  {}{}\n", events.rows.at(row, json), row + 1 < events.shown ? "," : "");
}

}  // namespace outboxd::app
