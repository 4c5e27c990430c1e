// action_book: the previews that may still be applied, and what became of those that were. A token names one:
// whoever has it may apply it, once.
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
  std::chrono::seconds preview{std::chrono::minutes(15)};  // then it is to be looked at again
  std::chrono::seconds result{std::chrono::hours(12)};     // for who asks again
  std::size_t previews = 20;                               // the oldest makes room
  std::size_t results = 200;
  std::size_t events = 2'000'000;  // named by all previews and results together
};

class action_book {
 public:
  using clock = action::clock;

  explicit action_book(book_limits within = {}) : within_(within) {}

  std::shared_ptr<action> add(action_plan plan, clock::time_point now);

  // Null: there is none of this token, or its time is up.
  std::shared_ptr<action> find(std::string_view token, clock::time_point now);

  std::vector<std::shared_ptr<action>> running() const;

 private:
  bool is_over(const action& one, clock::time_point now) const;
  void make_room(clock::time_point now);

  book_limits within_;
  // By the digest of the token: how long a search takes tells nothing about tokens.
  std::map<digest, std::shared_ptr<action>> all_;
};

}  // namespace outboxd::console
