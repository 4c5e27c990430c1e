// glob: a pattern over names: * stands for any characters or none, ? for one character.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace outboxd {

class glob {
 public:
  explicit glob(std::string pattern) : pattern_(std::move(pattern)) {}

  bool matches(std::string_view name) const;

  // True: it matches everything that `other` matches. False is not certain where ? is next to *.
  bool covers(const glob& other) const;

  const std::string& text() const { return pattern_; }

 private:
  std::string pattern_;
};

}  // namespace outboxd
