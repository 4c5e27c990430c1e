// odd_rows: rows are drawn without replacement, like cards.
#include "odd_rows.hpp"

#include <fmt/format.h>

#include <random>
#include <utility>

namespace outboxd::chaos {

using namespace test;

namespace {

const std::vector<poison>& table() {
  static const auto all = poisons();
  return all;
}

// One failure too many makes the event dead: until its destination is known to work, the failure cannot be
// excused.
bool has_no_attempt_left(const poison& what) {
  return what.columns.contains("attempts");
}

}  // namespace

odd_deck::odd_deck(std::uint64_t seed, std::size_t part, std::size_t parts) {
  for (std::size_t i = part; i < table().size(); i += parts) cards_.push_back(&table()[i]);
  std::mt19937_64 random{seed};
  for (std::size_t i = cards_.size(); i > 1; --i) std::swap(cards_[i - 1], cards_[random() % i]);
}

const poison& odd_deck::draw() {
  next_ %= cards_.size();
  const auto& drawn = *cards_[next_];
  if (drawn.columns.contains("id"))
    cards_.erase(cards_.begin() + static_cast<std::ptrdiff_t>(next_));
  else
    ++next_;
  return drawn;
}

bool is_born_dead(const poison& what) {
  return what.status == "dead" && what.columns.contains("status");
}

bool closes_something(const poison& what) {
  return what.status == "dead" && !is_born_dead(what) && what.code != "returned" &&
         what.code != "unencodable";
}

std::optional<std::string> wrong_end(const poison& what, const committed_event& row, const reason& why,
                                     bool delivered, bool outage) {
  const auto event = fmt::format("event {} ({})", row.id, what.name);
  if (row.status != what.status) {
    const bool excused =
        what.status == "published" && row.status == "dead" && outage && has_no_attempt_left(what);
    if (!excused) return fmt::format("{} is {}, not {}: {}", event, row.status, what.status, why.error);
    return std::nullopt;
  }
  if (delivered != (row.status == "published"))
    return fmt::format("{} is {} and was {}delivered", event, row.status, delivered ? "" : "not ");
  if (row.status != "dead" || is_born_dead(what)) return std::nullopt;
  if (why.error.empty()) return fmt::format("{} is dead without a reason", event);
  if (!what.code.empty() && why.code != what.code)
    return fmt::format("{} is dead for {}, not {}: {}", event, why.code, what.code, why.error);
  return std::nullopt;
}

}  // namespace outboxd::chaos
