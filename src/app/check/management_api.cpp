#include "app/check/management_api.hpp"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/sslerr.h>

#include "amqp/tls_words.hpp"
#include "app/check/broker_remedy.hpp"
#include "app/check/policy_judge.hpp"
#include "core/text.hpp"

namespace outboxd::app::check {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr milliseconds longest_wait = 5s;  // for one response
constexpr auto enable_remedy =
    "rabbitmq-plugins enable rabbitmq_management  # on the broker; or correct amqp.management_url";

// {"error":"not_authorised","reason":"Not management user"}
std::string reason_in(const std::string& body) {
  constexpr std::size_t enough = 200;
  const auto reason = text_in(nlohmann::json::parse(body, nullptr, false), "reason");
  return reason ? ": " + in_quotes(reason->substr(0, enough)) : std::string();
}

// The server answered the TLS handshake with plain HTTP.
bool is_no_tls(const boost::system::error_code& failed) {
  const int reason = ERR_GET_REASON(static_cast<unsigned long>(failed.value()));
  return amqp::is_about_tls(failed) &&
         (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_PACKET_LENGTH_TOO_LONG ||
          reason == SSL_R_HTTP_REQUEST);
}

}  // namespace

management_api::management_api(http::url where, http::credentials login, amqp::tls_settings tls,
                               milliseconds limit)
    : where_(std::move(where)),
      login_(where_.login.value_or(std::move(login))),
      tls_(std::move(tls)),
      until_(std::chrono::steady_clock::now() + limit) {}

tl::expected<nlohmann::json, finding> management_api::get(std::string_view target) const {
  const auto left = std::chrono::duration_cast<milliseconds>(until_ - std::chrono::steady_clock::now());
  if (left <= 0ms)
    return tl::make_unexpected(
        warning(fmt::format("{} is too slow: some questions were not asked", where_.display()),
                "rabbitmq-diagnostics status  # and see why the management plugin is slow"));
  const auto heard = ask(target, std::min(left, longest_wait));
  if (!heard) return tl::make_unexpected(warning(heard.error().message, enable_remedy));
  auto said = nlohmann::json::parse(heard->body, nullptr, false);
  if (heard->status == 404 && said.is_object() && said.contains("error")) return nlohmann::json();
  if (heard->status != 200) return tl::make_unexpected(refused(heard->status, heard->body));
  if (!said.is_discarded() && !said.is_null()) return said;
  return tl::make_unexpected(
      warning(fmt::format("{} does not answer with JSON", where_.display()), enable_remedy));
}

result<http::answer> management_api::ask(std::string_view target, milliseconds limit) const {
  const auto login = http::basic_authorization(login_);
  if (!where_.tls) return http::get(where_, target, login, limit);
  OUTBOXD_TRY(auto context, amqp::make_tls_context(tls_));
  amqp::certificate_refusal refused;
  http::tls_client tls{
      .context = std::move(context.it),
      .name_peer =
          [this](SSL* of) { amqp::name_peer(of, where_.host, tls_.verify == amqp::verification::full); },
      .verify =
          [&refused](bool good, boost::asio::ssl::verify_context& of) {
            if (!good) refused = amqp::refusal_of(of.native_handle());
            return good;
          },
      .words = [this, &refused](const boost::system::error_code& failed) -> std::optional<std::string> {
        if (is_no_tls(failed))
          return "the port does not speak TLS; use http:// for it, or the API's TLS port, usually 15671";
        if (amqp::is_about_tls(failed) || refused.code != 0)
          return amqp::tls_words(failed, refused, where_.host);
        return std::nullopt;
      }};
  return http::get(where_, target, login, limit, &tls);
}

finding management_api::refused(int status, const std::string& body) const {
  auto words = fmt::format("{} answers {}{}", where_.display(), status, reason_in(body));
  const auto user = shell_word(login_.user);
  // For a wrong password, RabbitMQ 3 returns "Login failed" and RabbitMQ 4 "Not_Authorized".
  if (status == 401 && body.find("Not management user") != std::string::npos)
    return warning(
        std::move(words),
        fmt::format("rabbitmqctl set_user_tags {} management  # it replaces the user's tags", user));
  if (status == 401 || status == 403)
    return warning(std::move(words),
                   fmt::format("rabbitmqctl authenticate_user {}  # then correct amqp.management_url", user));
  return warning(std::move(words), enable_remedy);
}

}  // namespace outboxd::app::check
