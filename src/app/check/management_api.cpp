#include "app/check/management_api.hpp"

#include <fmt/format.h>

#include "app/check/broker_remedy.hpp"
#include "app/check/policy_judge.hpp"
#include "http/client.hpp"

namespace outboxd::app::check {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr milliseconds longest_wait = 5s;  // for one answer
constexpr auto enable_remedy =
    "rabbitmq-plugins enable rabbitmq_management  # on the broker; or mend amqp.management_url";

// {"error":"not_authorised","reason":"Not management user"}
std::string reason_in(const std::string& body) {
  constexpr std::size_t enough = 200;
  const auto reason = text_in(nlohmann::json::parse(body, nullptr, false), "reason");
  return reason ? ": " + in_quotes(reason->substr(0, enough)) : std::string();
}

}  // namespace

management_api::management_api(http::url where, http::credentials login, milliseconds limit)
    : where_(std::move(where)),
      login_(where_.login.value_or(std::move(login))),
      until_(std::chrono::steady_clock::now() + limit) {}

tl::expected<nlohmann::json, finding> management_api::get(std::string_view target) const {
  const auto left = std::chrono::duration_cast<milliseconds>(until_ - std::chrono::steady_clock::now());
  if (left <= 0ms)
    return tl::make_unexpected(
        warning(fmt::format("{} is too slow: not all could be asked", where_.display()),
                "rabbitmq-diagnostics status  # and see why the management plugin is slow"));
  const auto heard =
      http::get(where_, target, http::basic_authorization(login_), std::min(left, longest_wait));
  if (!heard) return tl::make_unexpected(warning(heard.error().message, enable_remedy));
  auto said = nlohmann::json::parse(heard->body, nullptr, false);
  if (heard->status == 404 && said.is_object() && said.contains("error")) return nlohmann::json();
  if (heard->status != 200) return tl::make_unexpected(refused(heard->status, heard->body));
  if (!said.is_discarded() && !said.is_null()) return said;
  return tl::make_unexpected(
      warning(fmt::format("{} answers with something else than JSON", where_.display()), enable_remedy));
}

finding management_api::refused(int status, const std::string& body) const {
  auto words = fmt::format("{} answers {}{}", where_.display(), status, reason_in(body));
  const auto user = shell_word(login_.user);
  if (status == 401 && body.find("Login failed") == std::string::npos)
    return warning(
        std::move(words),
        fmt::format("rabbitmqctl set_user_tags {} management  # it replaces the user's tags", user));
  if (status == 401 || status == 403)
    return warning(std::move(words),
                   fmt::format("rabbitmqctl authenticate_user {}  # then mend amqp.management_url", user));
  return warning(std::move(words), enable_remedy);
}

}  // namespace outboxd::app::check
