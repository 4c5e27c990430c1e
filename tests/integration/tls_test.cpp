// TLS to RabbitMQ: whom the relay talks to, whom it does not talk to, and the words for it.
#include <doctest/doctest.h>

#include <fstream>

#include "clinic.hpp"
#include "enabled_plugin.hpp"
#include "support/broker_admin.hpp"
#include "support/tls_listener.hpp"

namespace outboxd::test::tls_test {
namespace {

struct tls_clinic : clinic {
  tls_clinic() { variables["OUTBOXD_AMQP_TLS_CA_FILE"] = ours.file(); }

  void refused(const std::string& words) {
    const auto done = check();
    CAPTURE(words);
    CHECK_MESSAGE(done.exited(1), done.text());
    CHECK_MESSAGE(done.says("broker.login: "), done.text());
    CHECK_MESSAGE(done.says(words), done.text());
  }
  void refused_at_start(const std::string& words) {
    const auto done = run_outboxd({"run"}, variables);
    CAPTURE(words);
    CHECK_MESSAGE(done.exited(2), done.text());
    CHECK_MESSAGE(done.says(words), done.text());
  }

  certificate_authority ours{"the CA of the tests"};
};

// Its name is that of a certificate, and it has no password.
class user_by_certificate {
 public:
  explicit user_by_certificate(std::string name) : name_{std::move(name)} {
    add_user(name_, "pa55word");
    clear_password(name_);
    set_permissions(name_);
  }
  ~user_by_certificate() {
    try {
      delete_user(name_);
    } catch (const std::exception&) {
    }
  }
  user_by_certificate(const user_by_certificate&) = delete;
  user_by_certificate& operator=(const user_by_certificate&) = delete;

 private:
  std::string name_;
};

environment with(const environment& some, const environment& more) {
  auto all = more;
  all.insert(some.begin(), some.end());
  return all;
}

}  // namespace

TEST_CASE("events go out over TLS, and the broker is one whose certificate is verified") {
  tls_clinic at;
  const tls_listener broker_port{at.ours, at.ours.issue()};
  at.variables["OUTBOXD_AMQP_URL"] = broker_port.url();
  const auto done = at.check();
  CHECK_MESSAGE(done.says("broker.tls: TLSv1.3, and the broker's certificate is verified"), done.text());
  for (const char* host : {"localhost", "127.0.0.1"}) {
    CAPTURE(host);
    const auto before = at.on.count("published");
    relay running{at.on,
                  {"--amqp-url", broker_port.url("amqps", host), "--amqp-tls-ca-file", at.ours.file()}};
    at.on.add_events(500, 20);
    at.on.await_published(before + 10'000);
    running.stop();
  }
  const auto report = at.on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  CHECK(report.duplicates == 0);
}

TEST_CASE("a broker whose certificate is not to be trusted is not talked to") {
  tls_clinic at;
  const auto shows = [&](const certificate_files& what, const std::string& words) {
    const tls_listener port{at.ours, what};
    at.variables["OUTBOXD_AMQP_URL"] = port.url();
    at.refused(words);
    // Nobody has to know why, if its user does not want to.
    const auto verify = at.variables["OUTBOXD_AMQP_TLS_VERIFY"] = "none";
    const auto careless = at.check();
    CHECK_MESSAGE(careless.says("the broker may be anybody"), careless.text());
    at.variables.erase("OUTBOXD_AMQP_TLS_VERIFY");
  };
  shows(at.ours.issue({.hosts = {"DNS:rabbit.example", "DNS:other.example"}}),
        "is for rabbit.example, other.example and not for localhost");
  shows(at.ours.issue({.from = std::chrono::hours(-48), .until = std::chrono::hours(-24)}), "expired");
  shows(at.ours.issue({.from = std::chrono::hours(24), .until = std::chrono::hours(48)}), "not yet valid");
  shows(at.ours.self_signed(), "amqp.tls.ca_file");
  certificate_authority strangers{"somebody else's CA"};
  shows(strangers.issue(), "amqp.tls.ca_file");
}

TEST_CASE("the wrong host alone is taken where any host of the CA is") {
  tls_clinic at;
  const tls_listener port{at.ours, at.ours.issue({.hosts = {"DNS:rabbit.example"}})};
  at.variables["OUTBOXD_AMQP_URL"] = port.url();
  at.variables["OUTBOXD_AMQP_TLS_VERIFY"] = "ca";
  const auto done = at.check();
  CHECK_MESSAGE(done.says("any host with a certificate of that CA"), done.text());
}

TEST_CASE("an address wants to be in the broker's certificate as an address") {
  tls_clinic at;
  const tls_listener port{at.ours, at.ours.issue({.hosts = {"DNS:localhost"}})};
  at.variables["OUTBOXD_AMQP_URL"] = port.url("amqps", "127.0.0.1");
  at.refused("is for localhost and not for 127.0.0.1");
}

TEST_CASE("a CA of ours is none of the system's") {
  tls_clinic at;
  at.variables.erase("OUTBOXD_AMQP_TLS_CA_FILE");
  const tls_listener port{at.ours, at.ours.issue()};
  at.variables["OUTBOXD_AMQP_URL"] = port.url();
  at.refused("amqp.tls.ca_file");
}

TEST_CASE("what is wrong between the two ends of a line is said in words") {
  tls_clinic at;
  const tls_listener port{at.ours, at.ours.issue()};
  SUBCASE("TLS to a port without it") {
    at.variables["OUTBOXD_AMQP_URL"] = "amqps" + required_environment("OUTBOXD_AMQP_URL").substr(4);
    at.refused("the port does not speak TLS");
  }
  SUBCASE("plain text to a port with TLS") {
    at.variables["OUTBOXD_AMQP_URL"] = port.url("amqp");
    at.refused("amqps://");
  }
  SUBCASE("a broker that speaks old versions only") {
    const tls_listener old{at.ours, at.ours.issue(), ", {versions, ['tlsv1.1']}"};
    at.variables["OUTBOXD_AMQP_URL"] = old.url();
    at.refused("no TLS of version 1.2");
  }
}

TEST_CASE("a broker that wants our certificate looks at it") {
  tls_clinic at;
  const tls_listener port{at.ours, at.ours.issue(), wants_certificate};
  at.variables["OUTBOXD_AMQP_URL"] = port.url();
  at.refused("set amqp.tls.certificate_file");

  const auto show = [&](const certificate_files& what) {
    at.variables["OUTBOXD_AMQP_TLS_CERTIFICATE_FILE"] = what.certificate;
    at.variables["OUTBOXD_AMQP_TLS_KEY_FILE"] = what.key;
  };
  show(at.ours.issue({.common_name = "outboxd", .hosts = {}}));
  const auto done = at.check();
  CHECK_MESSAGE(done.says("the client certificate expires in 0 days"), done.text());
  show(at.ours.issue({.common_name = "outboxd", .hosts = {}, .until = std::chrono::hours(24 * 100)}));
  const auto later = at.check();
  CHECK_MESSAGE(later.says("the client certificate is valid for 99 days"), later.text());

  certificate_authority strangers{"somebody else's CA"};
  show(strangers.issue({.common_name = "outboxd", .hosts = {}}));
  at.refused("the broker does not know the CA that signed");
  show(at.ours.issue({.common_name = "outboxd",
                      .hosts = {},
                      .from = std::chrono::hours(-48),
                      .until = std::chrono::hours(-24)}));
  at.refused("has expired");
  const auto gone = at.ours.issue({.common_name = "outboxd", .hosts = {}});
  const tls_listener checks{
      at.ours, at.ours.issue(),
      fmt::format(
          "{}, {{crl_check, peer}}, {{crl_cache, {{ssl_crl_hash_dir, {{internal, [{{dir, \"{}\"}}]}}}}}}",
          wants_certificate, at.ours.revoke(gone))};
  at.variables["OUTBOXD_AMQP_URL"] = checks.url();
  show(gone);
  at.refused("has been revoked");
}

TEST_CASE("files that are no good are named at the start, each with its remedy") {
  tls_clinic at;
  at.variables["OUTBOXD_AMQP_URL"] = "amqps://guest:guest@127.0.0.1:1";
  const auto mine = at.ours.issue({.common_name = "outboxd", .hosts = {}});
  const auto good = at.variables;
  const auto starts = [&](const environment& changed, const std::string& words) {
    at.variables = with(good, changed);
    for (const auto& [name, value] : changed) at.variables[name] = value;
    at.refused_at_start(words);
  };
  const std::string ca = "OUTBOXD_AMQP_TLS_CA_FILE";
  const std::string shown = "OUTBOXD_AMQP_TLS_CERTIFICATE_FILE";
  const std::string key = "OUTBOXD_AMQP_TLS_KEY_FILE";
  const auto directory = at.ours.directory().string();
  const auto write = [&](const char* name, const std::string& text) {
    const auto path = directory + "/" + name;
    std::ofstream{path} << text;
    std::filesystem::permissions(path, std::filesystem::perms::owner_read);
    return path;
  };
  starts({{ca, directory + "/none.pem"}}, "No such file or directory");
  starts({{ca, directory}}, "is a directory");
  starts({{ca, write("empty.pem", "")}}, "is not in PEM form");
  starts({{ca, mine.key}}, "holds a private key and no certificate");
  starts({{ca, write("damaged.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")}},
         "holds a damaged certificate");
  starts({{shown, mine.certificate}}, "is given without amqp.tls.key_file");
  starts({{key, mine.key}}, "is given without amqp.tls.certificate_file");
  starts({{shown, mine.key}, {key, mine.certificate}}, "swapped");
  starts({{shown, mine.certificate}, {key, at.ours.issue().key}}, "is not the key of");
  starts({{shown, mine.certificate}, {key, at.ours.encrypted(mine)}}, "is encrypted");
  starts({{shown, mine.certificate}, {key, write("damaged.key", "-----BEGIN PRIVATE KEY-----\nAAAA\n")}},
         "holds a damaged key");
  starts({{"OUTBOXD_AMQP_AUTH", "external"}}, "set amqp.tls.certificate_file");
  starts({{"OUTBOXD_AMQP_AUTH", "external"},
          {shown, mine.certificate},
          {key, mine.key},
          {"OUTBOXD_AMQP_URL", "amqp://127.0.0.1:1"}},
         "write amqps://");
  starts({{"OUTBOXD_AMQP_AUTH", "external"},
          {shown, mine.certificate},
          {key, mine.key},
          {"OUTBOXD_AMQP_URL", "amqps://127.0.0.1:1"},
          {"OUTBOXD_AMQP_PASSWORD_COMMAND", "/bin/true"}},
         "remove amqp.password_command");
  starts({{"OUTBOXD_AMQP_TLS_VERIFY", "maybe"}}, "give one of full, ca, none");
}

TEST_CASE("a certificate that is renewed is shown to the next connection") {
  tls_clinic at;
  const auto renewed = std::chrono::hours(24 * 200);
  const tls_listener port{at.ours, at.ours.issue(), wants_certificate};
  const auto mine = at.ours.issue({.common_name = "outboxd", .hosts = {}});
  relay running{
      at.on,
      {"--amqp-url", port.url(), "--amqp-tls-ca-file", at.ours.file(), "--amqp-tls-certificate-file",
       mine.certificate, "--amqp-tls-key-file", mine.key, "--relay-lanes", "1"}};
  at.on.add_events(10);
  at.on.await_published(10);
  const auto next = at.ours.issue({.common_name = "outboxd", .hosts = {}, .until = renewed});
  std::filesystem::rename(next.certificate, mine.certificate);
  std::filesystem::rename(next.key, mine.key);
  port.close_connections("renewed");
  running.wait_line("trying again");
  at.on.add_events(10);
  at.on.await_published(20);
  running.stop();
}

TEST_SUITE("alone") {
  TEST_CASE("a certificate logs in where the broker takes it") {
    tls_clinic at;
    const tls_listener port{at.ours, at.ours.issue(), wants_certificate};
    const auto mine = at.ours.issue({.common_name = "a-relay", .hosts = {}});
    at.variables["OUTBOXD_AMQP_URL"] = port.url();
    at.variables["OUTBOXD_AMQP_AUTH"] = "external";
    at.variables["OUTBOXD_AMQP_TLS_CERTIFICATE_FILE"] = mine.certificate;
    at.variables["OUTBOXD_AMQP_TLS_KEY_FILE"] = mine.key;
    at.refused("enable its plugin rabbitmq_auth_mechanism_ssl");

    const enabled_plugin external{"rabbitmq_auth_mechanism_ssl",
                                  "ok = application:set_env(rabbit, auth_mechanisms, ['PLAIN', 'AMQPLAIN', "
                                  "'EXTERNAL']), ok = application:set_env(rabbit, ssl_cert_login_from, "
                                  "common_name), ok = application:set_env(rabbit, ssl_options, [{verify, "
                                  "verify_peer}]), "};
    at.refused("check that a user has the name in the client certificate");
    const user_by_certificate ours{"a-relay"};
    const auto done = at.check();
    CHECK_MESSAGE(done.says("the client certificate expires in 0 days"), done.text());
    relay running{at.on,
                  {"--amqp-url", port.url("amqps", "localhost", "nobody", "nothing"), "--amqp-auth",
                   "external", "--amqp-tls-ca-file", at.ours.file(), "--amqp-tls-certificate-file",
                   mine.certificate, "--amqp-tls-key-file", mine.key}};
    at.on.add_events(10);
    at.on.await_published(10);
    running.stop();
  }
}

}  // namespace outboxd::test::tls_test
