// finding: what one check has found.
#pragma once

#include <string>
#include <vector>

namespace outboxd::app::check {

enum class verdict {
  ok,
  warning,      // works, and will hurt some day
  failure,      // the relay does not work, or not as it should
  not_checked,  // could not be looked at, or is none of this set-up's
};

struct finding {
  std::string name;  // of the check: the same in every release, for scripts
  verdict how = verdict::ok;
  std::string words;
  std::string remedy;  // of a warning or failure: a command, or the setting to change
};
using findings = std::vector<finding>;

// What a check returns; whoever runs it knows its name.
inline finding ok(std::string words) {
  return {{}, verdict::ok, std::move(words), {}};
}
inline finding warning(std::string words, std::string remedy) {
  return {{}, verdict::warning, std::move(words), std::move(remedy)};
}
inline finding failure(std::string words, std::string remedy) {
  return {{}, verdict::failure, std::move(words), std::move(remedy)};
}
inline finding not_checked(std::string words) {
  return {{}, verdict::not_checked, std::move(words), {}};
}

inline finding named(std::string name, finding of) {
  of.name = std::move(name);
  return of;
}

}  // namespace outboxd::app::check
