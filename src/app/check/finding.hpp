// finding: the result of one check.
#pragma once

#include <string>
#include <vector>

namespace outboxd::app::check {

enum class verdict {
  ok,
  warning,      // works, but will cause trouble
  failure,      // the relay does not work, or works incorrectly
  not_checked,  // could not be examined, or does not apply
};

struct finding {
  std::string name;  // stable name of the check, for scripts
  verdict how = verdict::ok;
  std::string words;
  std::string remedy;  // for a warning or failure: a command, or the setting to change
};
using findings = std::vector<finding>;

// The result of a check; the caller knows its name.
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
