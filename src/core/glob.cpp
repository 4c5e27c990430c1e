#include "core/glob.hpp"

#include <vector>

namespace outboxd {
namespace {

// Returns the end of the UTF-8 character that begins at `at`.
std::size_t end_of_character(std::string_view text, std::size_t at) {
  do ++at;
  while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U);
  return at;
}

}  // namespace

// On a mismatch, the last * takes one more character.
bool glob::matches(std::string_view name) const {
  std::size_t at = 0;
  std::size_t in_name = 0;
  std::size_t after_star = std::string::npos;
  std::size_t star_ends = 0;
  while (in_name < name.size()) {
    if (at < pattern_.size() && pattern_[at] == '*') {
      after_star = ++at;
      star_ends = in_name;
    } else if (at < pattern_.size() && pattern_[at] == '?') {
      ++at;
      in_name = end_of_character(name, in_name);
    } else if (at < pattern_.size() && pattern_[at] == name[in_name]) {
      ++at;
      ++in_name;
    } else if (after_star != std::string::npos) {
      at = after_star;
      in_name = star_ends = end_of_character(name, star_ends);
    } else {
      return false;
    }
  }
  return pattern_.find_first_not_of('*', at) == std::string::npos;
}

bool glob::covers(const glob& other) const {
  const std::string& of = other.pattern_;
  // fits[i][j]: whether this pattern from position i on covers the other pattern from position j on.
  std::vector<std::vector<bool>> fits(pattern_.size() + 1, std::vector<bool>(of.size() + 1));
  fits[pattern_.size()][of.size()] = true;
  for (std::size_t i = pattern_.size(); i-- > 0;) {
    for (std::size_t j = of.size() + 1; j-- > 0;) {
      const bool ended = j == of.size();
      if (pattern_[i] == '*')
        fits[i][j] = fits[i + 1][j] || (!ended && fits[i][j + 1]);
      else if (!ended && of[j] != '*' && (pattern_[i] == '?' || pattern_[i] == of[j]))
        fits[i][j] = fits[i + 1][j + 1];
    }
  }
  return fits[0][0];
}

}  // namespace outboxd
