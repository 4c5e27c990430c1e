// remedy: remedies for a server's error messages.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace outboxd::app::check {

// A remedy for messages that contain all of these parts.
struct known_refusal {
  std::array<std::string_view, 3> parts;
  std::string_view remedy;  // with names of arguments in braces
};

// Returns the first matching remedy; the last one always matches.
template <class... Args>
std::string remedy_of(const std::string& words, const auto& known, const Args&... args) {
  const auto fits = [&](const known_refusal& one) {
    return std::ranges::all_of(one.parts,
                               [&](std::string_view part) { return words.find(part) != std::string::npos; });
  };
  return fmt::format(fmt::runtime(std::ranges::find_if(known, fits)->remedy), args...);
}

}  // namespace outboxd::app::check
