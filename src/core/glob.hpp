// glob: a pattern for names: * matches any number of characters, ? matches one.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace outboxd {

class glob {
 public:
  explicit glob(std::string pattern) : pattern_(std::move(pattern)) {}

  bool matches(std::string_view name) const;

  // True if this pattern matches every name that `other` matches. The result may be a false negative if ? is
  // next to *.
  bool covers(const glob& other) const;

  const std::string& text() const { return pattern_; }

 private:
  std::string pattern_;
};

}  // namespace outboxd
