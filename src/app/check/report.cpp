#include "app/check/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace outboxd::app::check {
namespace {

std::string_view shown(verdict how) {
  switch (how) {
    case verdict::ok:
      return "ok";
    case verdict::warning:
      return "warning";
    case verdict::failure:
      return "failure";
    case verdict::not_checked:
      return "not checked";
  }
  return {};
}

std::string_view keyword(verdict how) {
  return how == verdict::not_checked ? "not_checked" : shown(how);
}

}  // namespace

std::string as_text(const findings& all) {
  std::string out;
  for (const finding& one : all) {
    out += fmt::format("{:<12} {}: {}\n", shown(one.how), one.name, one.words);
    if (!one.remedy.empty()) out += fmt::format("{:<12}   {}\n", "", one.remedy);
  }
  return out;
}

std::string as_json(const findings& all) {
  auto out = nlohmann::ordered_json::array();
  for (const finding& one : all) {
    nlohmann::ordered_json line{{"name", one.name}, {"verdict", keyword(one.how)}, {"words", one.words}};
    line["remedy"] = one.remedy.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(one.remedy);
    out.push_back(std::move(line));
  }
  // A server's message may not be valid UTF-8.
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

bool any_failed(const findings& all) {
  return std::any_of(all.begin(), all.end(), [](const finding& one) { return one.how == verdict::failure; });
}

}  // namespace outboxd::app::check
