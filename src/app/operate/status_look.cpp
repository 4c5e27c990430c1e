#include "app/operate/status_look.hpp"

#include <nlohmann/json.hpp>

namespace outboxd::app {

nlohmann::json look_at_outbox(operator_session& session, const relay::postgres_settings& at,
                              std::span<const std::string_view> parts) {
  nlohmann::json out{{"schema", at.schema.name()}, {"errors", nlohmann::json::array()}};
  for (const std::string_view part : parts) {
    std::vector<std::string> parameters;
    if (part == "culprits") parameters.push_back(std::to_string(at.claim_timeout.count()));
    const auto answer = session.ask(part, parameters);
    if (!answer) {
      out["errors"].push_back(answer.error().message);
    } else if (*answer) {
      out.update(nlohmann::json::parse(**answer));
    }
  }
  return out;
}

}  // namespace outboxd::app
