// outboxd check: faults planted one by one on the real RabbitMQ are named, each with its remedy.
#include <doctest/doctest.h>

#include <unistd.h>

#include "clinic.hpp"
#include "management_plugin.hpp"
#include "settings_file.hpp"
#include "support/broker_admin.hpp"
#include "support/broker_url.hpp"
#include "support/servers.hpp"

namespace outboxd::test::check_broker_test {
namespace {

// A vhost of the test's own and a user with these permissions there.
class private_vhost {
 public:
  explicit private_vhost(const std::string& configure = ".*", const std::string& write = ".*") {
    static int counter = 0;
    name_ = fmt::format("check-{}-{}", ::getpid(), ++counter);
    add_vhost(name_);
    set_permissions("outboxd", {}, name_);
    add_user(name_, "pa55word");
    set_permissions(name_, {.configure = configure, .write = write, .read = "^$"}, name_);
  }
  ~private_vhost() {
    try {
      delete_vhost(name_);
      delete_user(name_);
    } catch (const std::exception&) {
    }
  }
  private_vhost(const private_vhost&) = delete;
  private_vhost& operator=(const private_vhost&) = delete;

  const std::string& name() const { return name_; }
  std::string url() const { return amqp_url(name_, "pa55word", name_); }
  std::string admin_url() const { return amqp_url("outboxd", admin_password(), name_); }

 private:
  std::string name_;
};

// Of the plugin rabbitmq_delayed_message_exchange the broker has the name here, and what it does at first: it
// hands a message to nobody.
class exchange_type_like_delayed {
 public:
  exchange_type_like_delayed() {
    change("register(exchange, <<\"x-delayed-message\">>, rabbit_exchange_type_direct)");
  }
  ~exchange_type_like_delayed() {
    try {
      change("unregister(exchange, <<\"x-delayed-message\">>)");
    } catch (const std::exception&) {
    }
  }
  exchange_type_like_delayed(const exchange_type_like_delayed&) = delete;
  exchange_type_like_delayed& operator=(const exchange_type_like_delayed&) = delete;

 private:
  static void change(const std::string& how) { broker_eval("ok = rabbit_registry:" + how + "."); }
};

}  // namespace

TEST_CASE("check names a login to RabbitMQ that is refused") {
  clinic at;
  at.variables["OUTBOXD_AMQP_URL"] = amqp_url("outboxd", canary);
  finds(at, "broker.login", "failure", "403", "rabbitmqctl authenticate_user outboxd");
  at.variables["OUTBOXD_AMQP_URL"] = amqp_url("outboxd", admin_password(), "no-such-vhost");
  finds(at, "broker.login", "failure", "no-such-vhost", "rabbitmqctl add_vhost no-such-vhost");
  at.variables["OUTBOXD_AMQP_URL"] = fmt::format("amqp://user:{}@127.0.0.1:1", canary);
  finds(at, "broker.login", "failure", "refused", "nc -vz 127.0.0.1 1");
  // A relay would go on to the next of the list.
  at.variables["OUTBOXD_AMQP_URL"] += "," + amqp_url("outboxd", admin_password());
  finds(at, "broker.login", "warning", "refused", "nc -vz 127.0.0.1 1");
}

TEST_CASE("check names an exchange that is missing, of another type, or not the user's to declare") {
  clinic at;
  const private_vhost own;
  at.variables["OUTBOXD_AMQP_URL"] = own.url();
  const auto fresh = at.check();
  CHECK_MESSAGE(fresh.exited(0), fresh.text());
  CHECK_MESSAGE(fresh.says("the relay will declare it"), fresh.text());
  finds(at, "broker.exchange", "failure", "does not exist",
        "-X PUT http://127.0.0.1:15672/api/exchanges/" + own.name() + "/outbox ",
        {"--amqp-declare", "false"});
  finds(at, "broker.exchange", "failure", "\"graveyard\": does not exist", "/graveyard ",
        {"--dead-letter-exchange", "graveyard"});
  const private_vhost limited{"^$"};
  at.variables["OUTBOXD_AMQP_URL"] = limited.url();
  finds(at, "broker.exchange", "failure", "could not declare it", "'^outbox$' '^outbox$'");
  at.variables["OUTBOXD_AMQP_URL"] = own.url();
  broker{own.admin_url()}.declare_exchange("outbox", "fanout");
  finds(at, "broker.exchange", "failure", "'topic' but current is 'fanout'", "amqp.declare = false");
  CHECK(at.check({"--amqp-declare", "false"}).exited(0));
}

TEST_CASE("check declares nothing, and its question whether it may publish reaches nobody") {
  clinic at;
  const private_vhost own{"^outbox$", "^outbox$"};
  at.variables["OUTBOXD_AMQP_URL"] = own.url();
  CHECK(at.check().exited(0));
  broker again{own.admin_url()};
  again.declare_queue("everything");
  CHECK_THROWS_AS(again.bind("everything", "outbox", "#"), broker_error);  // there is no such exchange
  again.declare_exchange("outbox");
  again.bind("everything", "outbox", "#");
  CHECK(at.check().exited(0));
  const auto said = at.check();
  CHECK_MESSAGE(said.says("the user may publish there"), said.text());
  CHECK(again.message_count("everything") == 0);
}

TEST_CASE("check names a user that may not publish, whether the exchange is there or not") {
  clinic at;
  const private_vhost own{"^outbox$", "^$"};
  at.variables["OUTBOXD_AMQP_URL"] = own.url();
  for (const bool declared : {false, true}) {
    if (declared) broker{own.admin_url()}.declare_exchange("outbox");
    finds(at, "broker.permission", "failure", "ACCESS_REFUSED",
          "rabbitmqctl set_permissions -p " + own.name());
  }
  // One command for all exchanges, because the next one would take back what this one gives.
  at.variables["OUTBOXD_DEAD_LETTER_EXCHANGE"] = "dead.letters";
  finds(at, "broker.permission", "failure", "ACCESS_REFUSED", R"(' '^(outbox|dead\.letters)$' '^$')");
}

TEST_CASE("check names a limit of connections below relay.lanes") {
  clinic at;
  const private_vhost own;
  at.variables["OUTBOXD_AMQP_URL"] = own.url();
  set_user_limit(own.name(), "max-connections", 1);
  finds(at, "broker.connections", "warning", "1 of 2 connections",
        "clear_user_limits " + own.name() + " max-connections");
}

TEST_CASE("check names a limit of channels as one of channels") {
  clinic at;
  const private_vhost own;
  at.variables["OUTBOXD_AMQP_URL"] = own.url();
  set_user_limit(own.name(), "max-channels", 0);
  finds(at, "broker.login", "failure", "number of channels",
        "clear_user_limits " + own.name() + " max-channels");
}

TEST_CASE(
    "check names an exchange that takes a message and returns it, unless its routes are not mandatory") {
  clinic at;
  const private_vhost own;
  const exchange_type_like_delayed type;
  at.variables["OUTBOXD_AMQP_URL"] = own.url();
  broker{own.admin_url()}.declare_exchange("later", "x-delayed-message");
  const auto route = [](const std::string& more) {
    return settings_file{"[[route]]\nname = 'later'\nexchange = 'later'\n" + more};
  };
  const auto mandatory = route("");
  finds(at, "broker.exchange", "warning", "\"later\": its type is x-delayed-message", "mandatory = false",
        mandatory.flags());
  const auto optional = route("mandatory = false\n");
  CHECK(at.check(optional.flags()).says("the routes to it are not mandatory"));
  broker{own.admin_url()}.delete_exchange("later");
  broker{own.admin_url()}.declare_exchange("later", "fanout");
  CHECK(at.check(mandatory.flags()).says("\"later\": exists; its type is fanout"));
}

TEST_CASE("check names a management API that cannot be reached or is none, and exits 0") {
  clinic at;
  at.variables["OUTBOXD_AMQP_MANAGEMENT_URL"] = fmt::format("http://user:{}@127.0.0.1:1", canary);
  finds(at, "broker.policies", "warning", "http://127.0.0.1:1: Connection refused",
        "rabbitmq-plugins enable rabbitmq_management");
  at.variables["OUTBOXD_AMQP_MANAGEMENT_URL"] =
      fmt::format("http://user:{}@127.0.0.1:{}", canary, required_environment("OUTBOXD_TEST_AMQP_PORT"));
  finds(at, "broker.policies", "warning", "the answer is no HTTP", "rabbitmq-plugins");
}

TEST_SUITE("alone") {
  TEST_CASE("check's commands for an exchange that is missing, or has an alternate one, mend it") {
    clinic at;
    const private_vhost own;
    const management_plugin plugin;
    set_user_tags(own.name(), {"management"});
    at.variables["OUTBOXD_AMQP_URL"] = own.url();
    at.variables["OUTBOXD_AMQP_MANAGEMENT_URL"] = plugin.url();
    const auto run_remedy = [&](const std::string& words) {
      const auto said = at.check({"--amqp-declare", "false"});
      const auto line = std::find_if(said.lines.begin(), said.lines.end(), [&](const std::string& one) {
        return one.find(words) != std::string::npos;
      });
      REQUIRE_MESSAGE(line < said.lines.end() - 1, said.text());
      auto command = *(line + 1);
      const std::string_view user = "-u ADMIN";
      const auto found = command.find(user);
      REQUIRE_MESSAGE(found != std::string::npos, command);
      command.replace(found, user.size(), "-u " + own.name() + ":pa55word");
      const auto done = run_program(
          {.program = "/bin/sh", .arguments = {"-c", command}, .environment = {}, .log_file = {}});
      CHECK_MESSAGE(done.exited(0), done.text());
    };
    run_remedy("does not exist, and the relay does not declare it");
    broker topology{own.admin_url()};
    CHECK(at.check({"--amqp-declare", "false"}).says("broker.exchange: \"outbox\": a topic exchange"));
    topology.delete_exchange("outbox");
    topology.declare_exchange("outbox", "topic", {{"alternate-exchange", "amq.fanout"}});
    run_remedy("has the alternate exchange \"amq.fanout\" (an argument)");
    CHECK(at.check().says("broker.exchange: \"outbox\": does not exist yet"));
  }

  TEST_CASE("check names an alarm of the broker, and ends during it") {
    const clinic at;
    memory_alarm alarm;
    finds(at, "broker.alarm", "warning", "accepts no messages at the moment: low on memory",
          "rabbitmq-diagnostics alarms");
    alarm.end();
    CHECK(at.check().exited(0));
  }

  TEST_CASE("check asks RabbitMQ's management API what becomes of events that nobody takes") {
    clinic at;
    const private_vhost own;
    const management_plugin plugin;
    at.variables["OUTBOXD_AMQP_URL"] = own.url();
    at.variables["OUTBOXD_AMQP_MANAGEMENT_URL"] = plugin.url();
    finds(at, "broker.policies", "warning", "answers 401: \"Not management user\"",
          "rabbitmqctl set_user_tags " + own.name() + " management");
    set_user_tags(own.name(), {"policymaker"});
    at.variables["OUTBOXD_AMQP_MANAGEMENT_URL"] = plugin.url("outboxd", canary);
    finds(at, "broker.policies", "warning", "answers 401: ", "rabbitmqctl authenticate_user outboxd");
    at.variables["OUTBOXD_AMQP_MANAGEMENT_URL"] = plugin.url();

    broker topology{own.admin_url()};
    topology.declare_exchange("outbox");
    topology.declare_queue("plain");
    topology.declare_queue("loses", queue_type::quorum, {{"x-delivery-limit", 5}});
    topology.declare_queue("saves", queue_type::quorum,
                           {{"x-delivery-limit", 5}, {"x-dead-letter-exchange", "amq.fanout"}});
    for (const char* queue : {"plain", "saves"}) topology.bind(queue, "outbox", "#");
    const auto sound = at.check();
    CHECK_MESSAGE(sound.says("broker.policies: \"outbox\": no alternate exchange"), sound.text());
    CHECK_MESSAGE(sound.says("2 queues bound to it, 1 of them quorum queues, none of which drops"),
                  sound.text());

    set_policy({.name = "take-all",
                .pattern = "^outbox$",
                .definition = R"([{<<"alternate-exchange">>, <<"amq.fanout">>}])",
                .apply_to = "exchanges",
                .vhost = own.name()});
    finds(at, "broker.policies", "warning", "alternate exchange \"amq.fanout\" (policy \"take-all\")",
          fmt::format("rabbitmqctl clear_policy -p {} take-all", own.name()));
    clear_policy("take-all", own.name());

    topology.bind("loses", "outbox", "#");
    eventually(
        "RabbitMQ tells the policy of the new queue", [&] { return at.check().says("drop a message"); },
        time_limit);
    finds(at, "broker.policies", "warning", "no dead-letter exchange: \"loses\" after 5",
          fmt::format("rabbitmqctl set_policy -p {} --apply-to queues", own.name()));
    set_policy({.name = "dead-letters",
                .pattern = "^loses$",
                .definition = R"([{<<"dead-letter-exchange">>, <<"amq.fanout">>}])",
                .vhost = own.name()});
    eventually(
        "RabbitMQ tells the dead letter exchange", [&] { return !at.check().says("drop a message"); },
        time_limit);
    CHECK_FALSE(at.check().says("warning"));
    topology.declare_queue("copies", queue_type::classic, {{"x-overflow", "reject-publish-dlx"}});
    topology.bind("copies", "outbox", "#");
    finds(at, "broker.policies", "warning",
          "while queue \"copies\" is full, its dead-letter exchange gets a copy",
          "x-overflow = reject-publish");
  }

  TEST_CASE("check asks the management API over TLS, and sends no password to one that it cannot verify") {
    clinic at;
    certificate_authority ours{"the CA of the tests"};
    const private_vhost own;
    const management_plugin plugin{ours.issue({.hosts = {"DNS:localhost"}})};
    set_user_tags(own.name(), {"policymaker"});
    broker{own.admin_url()}.declare_exchange("outbox");
    at.variables["OUTBOXD_AMQP_URL"] = own.url();
    const auto asks = [&](const std::string& host) {
      at.variables["OUTBOXD_AMQP_MANAGEMENT_URL"] = fmt::format("https://{}:{}", host, plugin.port());
    };
    asks("localhost");
    finds(at, "broker.policies", "warning",
          "name the certificate of the CA that has signed it with amqp.tls.ca_file", "");
    at.variables["OUTBOXD_AMQP_TLS_CA_FILE"] = ours.file();
    const auto sound = at.check();
    CHECK_MESSAGE(sound.says("broker.policies: \"outbox\": no alternate exchange"), sound.text());
    CHECK_MESSAGE(!sound.says("warning"), sound.text());
    asks("127.0.0.1");
    finds(at, "broker.policies", "warning", "is for localhost and not for 127.0.0.1", "");
    at.variables["OUTBOXD_AMQP_MANAGEMENT_URL"] = fmt::format("http://localhost:{}", plugin.port());
    CHECK_FALSE(at.check().says("no alternate exchange"));
    const auto amqp = amqp_url("outboxd", admin_password());
    at.variables["OUTBOXD_AMQP_MANAGEMENT_URL"] = "https" + amqp.substr(amqp.find(':'));
    finds(at, "broker.policies", "warning", "the port does not speak TLS; use http://", "");
  }
}

}  // namespace outboxd::test::check_broker_test
