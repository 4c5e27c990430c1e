// action_book: the previews that may still be applied, and the results of applied ones. A token names an
// action. The holder of the token may apply the action once.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "console/action.hpp"
#include "console/digest.hpp"

namespace outboxd::console {

struct book_limits {
  std::chrono::seconds preview{std::chrono::minutes(15)};  // how long a preview is valid
  std::chrono::seconds result{std::chrono::hours(12)};     // how long a result is available
  std::size_t previews = 20;                               // above this number, the oldest is dropped
  std::size_t results = 200;
  std::size_t events = 2'000'000;  // named by all previews and results together
};

class action_book {
 public:
  using clock = action::clock;

  explicit action_book(book_limits within = {}) : within_(within) {}

  std::shared_ptr<action> add(action_plan plan, clock::time_point now);

  // Null if no action has this token, or if the action has expired.
  std::shared_ptr<action> find(std::string_view token, clock::time_point now);

  std::vector<std::shared_ptr<action>> running() const;

 private:
  bool is_over(const action& one, clock::time_point now) const;
  void make_room(clock::time_point now);

  book_limits within_;
  // Keyed by the digest of the token, so that the duration of a search reveals nothing about tokens.
  std::map<digest, std::shared_ptr<action>> all_;
};

}  // namespace outboxd::console
