#include "app/config/tls_setting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "amqp/tls_context.hpp"
#include "amqp/url.hpp"
#include "app/config/secret_file.hpp"

namespace outboxd::app {
namespace {

bool wants_tls(const settings& from) {
  const auto& urls = from.relay.broker.urls;
  return std::any_of(urls.begin(), urls.end(), [](const relay::secret& one) {
    const auto url = one.address().and_then([](const std::string& text) { return amqp::parse_url(text); });
    return url && url->tls;
  });
}

void check_login(setting_reader& from, const amqp::tls_settings& tls, bool used) {
  const auto with = [&from](std::string_view what) {
    from.fail(fmt::format("amqp.auth = 'external' ({}) {}", from.value("amqp.auth").origin, what));
  };
  if (tls.certificate_file.empty())
    return with("logs in by a certificate; set amqp.tls.certificate_file and amqp.tls.key_file");
  if (from.has("amqp.password_command"))
    return with("logs in by a certificate alone; remove amqp.password_command");
  if (!used) with("logs in by a certificate, which needs TLS; write amqps:// in amqp.url");
}

void check_files(setting_reader& from, const amqp::tls_settings& tls, std::vector<std::string>& warnings) {
  if (tls.certificate_file.empty() != tls.key_file.empty()) {
    const bool key = tls.certificate_file.empty();
    const auto given = key ? "amqp.tls.key_file" : "amqp.tls.certificate_file";
    return from.fail(fmt::format("{} = '{}' ({}) is given without {}; give both", given,
                                 from.value(given).text, from.value(given).origin,
                                 key ? "amqp.tls.certificate_file" : "amqp.tls.key_file"));
  }
  if (!tls.key_file.empty() && is_world_readable(tls.key_file))
    warnings.push_back(fmt::format("amqp.tls.key_file ({}): everybody can read {}; chmod 600 {}",
                                   from.value("amqp.tls.key_file").origin, tls.key_file, tls.key_file));
  const auto tried = amqp::make_tls_context(tls);
  if (tried) return;
  const auto& words = tried.error().message;
  const auto key = words.substr(0, words.find(" = "));
  from.fail(from.has(key) ? fmt::format("{} ({})", words, from.value(key).origin) : words);
}

}  // namespace

void read_broker_tls(setting_reader& from, settings& out) {
  constexpr std::array<std::string_view, 2> logins{"plain", "external"};
  constexpr std::array<std::string_view, 3> verifications{"full", "ca", "none"};
  auto& broker = out.relay.broker;
  auto& tls = broker.tls;
  broker.login = static_cast<amqp::login_by>(from.choice("amqp.auth", logins));
  tls.verify = static_cast<amqp::verification>(from.choice("amqp.tls.verify", verifications));
  tls.ca_file = from.value("amqp.tls.ca_file").text;
  tls.certificate_file = from.value("amqp.tls.certificate_file").text;
  tls.key_file = from.value("amqp.tls.key_file").text;
  if (from.failed()) return;
  const bool used = wants_tls(out);
  if (broker.login == amqp::login_by::external) check_login(from, tls, used);
  if (from.failed()) return;
  if (used || !tls.ca_file.empty() || !tls.certificate_file.empty() || !tls.key_file.empty())
    check_files(from, tls, out.warnings);
  if (used || from.has("amqp.management_url") || from.has("amqp.management_url_file")) return;
  for (const char* one : {"amqp.tls.ca_file", "amqp.tls.certificate_file", "amqp.tls.verify"})
    if (from.has(one))
      out.warnings.push_back(fmt::format("{} ({}) is not used: no URL of amqp.url begins with amqps://", one,
                                         from.value(one).origin));
}

}  // namespace outboxd::app
