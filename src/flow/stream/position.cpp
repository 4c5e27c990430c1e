#include "flow/stream/position.hpp"

#include <algorithm>
#include <charconv>

namespace outboxd::flow {
namespace {

// Parses a number at the start of the text and removes it.
bool take_number(std::string_view& text, xid& into) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), into);
  if (failed != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take(std::string_view& text, char mark) {
  if (!text.starts_with(mark)) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::optional<snapshot> snapshot::parse(std::string_view text) {
  snapshot out;
  if (!take_number(text, out.xmin) || !take(text, ':') || !take_number(text, out.xmax) || !take(text, ':'))
    return std::nullopt;
  if (out.xmin > out.xmax) return std::nullopt;
  while (!text.empty()) {
    if (!out.in_progress.empty() && !take(text, ',')) return std::nullopt;
    xid next = 0;
    if (!take_number(text, next) || next < out.xmin || next >= out.xmax) return std::nullopt;
    if (!out.in_progress.empty() && next <= out.in_progress.back()) return std::nullopt;
    out.in_progress.push_back(next);
  }
  return out;
}

std::string snapshot::text() const {
  std::string out = std::to_string(xmin) + ":" + std::to_string(xmax) + ":";
  for (const xid one : in_progress) {
    if (out.back() != ':') out.push_back(',');
    out += std::to_string(one);
  }
  return out;
}

bool snapshot::sees(xid tx) const {
  return tx < xmax && !std::binary_search(in_progress.begin(), in_progress.end(), tx);
}

snapshot snapshot::cut_at(xid upper) const {
  if (upper >= xmax) return *this;
  snapshot out{std::min(xmin, upper), upper, in_progress};
  out.in_progress.erase(std::lower_bound(out.in_progress.begin(), out.in_progress.end(), upper),
                        out.in_progress.end());
  return out;
}

void position::advance(std::int64_t to, snapshot now) {
  seq = std::max(seq, to);
  seen = std::move(now);
}

// All rows below `lowest` that are visible by now have been read.
void position::go_back(std::int64_t lowest, snapshot now) {
  seq = std::min(seq, lowest - 1);
  seen = std::move(now);
}

}  // namespace outboxd::flow
