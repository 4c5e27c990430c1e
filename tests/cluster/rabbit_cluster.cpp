// rabbit_cluster: epmd, rabbitmq-server, and a proxy for each direction of each link between two nodes.
#include "rabbit_cluster.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "support/broker_connection.hpp"
#include "support/eventually.hpp"
#include "support/free_port.hpp"
#include "support/program.hpp"

namespace outboxd::cluster {
namespace {

using namespace std::chrono_literals;
using namespace test;

constexpr auto node_limit = 180s;
constexpr auto user = "outboxd";
constexpr auto password = "cluster";
constexpr auto loopback_only = "-kernel inet_dist_use_interface {127,0,0,1}";

// The root in which RabbitMQ runs by chroot, as tools/services does it; empty: it is installed here.
std::string root() {
  const char* const named = std::getenv("OUTBOXD_SERVICES_RABBITMQ_ROOT");
  return named != nullptr ? named : "";
}

// Debian's own scripts switch the user and ignore the environment.
std::string script(const std::string& name) {
  const auto behind = "/usr/lib/rabbitmq/bin/" + name;
  return std::filesystem::exists(root() + behind) ? behind : name;
}

std::string name_of(int node) {
  return fmt::format("node{}", node);
}

void write(const std::string& path, const std::string& text) {
  std::ofstream{path} << text;
}

}  // namespace

struct rabbit_cluster::member {
  int amqp_port = free_port();
  int peer_port = free_port();
  std::array<std::unique_ptr<tcp_proxy>, nodes> from;  // in front of peer_port, one for each other node
  std::unique_ptr<process> server;
};

rabbit_cluster::rabbit_cluster() : name_server_port_{free_port()} {
  const auto& home = directory_.path();
  write(home + "/.erlang.cookie", "outboxdcluster");
  ::chmod((home + "/.erlang.cookie").c_str(), S_IRUSR);
  write(home + "/empty.conf", "");
  write(home + "/enabled_plugins", "[].");
  write(home + "/advanced.config", "[].");
  for (const auto* const module : {"proxied_epmd", "queue_states"}) {
    const auto done =
        run_program({.program = "erlc",
                     .arguments = {"-o", home, fmt::format("{}/{}.erl", CLUSTER_SOURCES, module)},
                     .environment = {},
                     .log_file = {}},
                    node_limit);
    if (!done.exited(0)) throw std::runtime_error{done.text()};
  }
  for (int i = 0; i < nodes; ++i) {
    auto& one = *(members_[static_cast<std::size_t>(i)] = std::make_unique<member>());
    for (int other = 0; other < nodes; ++other)
      if (other != i)
        one.from[static_cast<std::size_t>(other)] =
            std::make_unique<tcp_proxy>(static_cast<std::uint16_t>(one.peer_port));
    std::string conf = fmt::format(
        "listeners.tcp.local = 127.0.0.1:{}\n"
        "default_user = {}\ndefault_pass = {}\ndefault_user_tags.administrator = true\n"
        // With 60, the default, RabbitMQ itself waits for a minute before it gives a silent node up.
        "net_ticktime = 5\n"
        "disk_free_limit.absolute = 50MB\nlog.console = true\nlog.file = false\n"
        "cluster_partition_handling = pause_minority\n"
        "cluster_formation.peer_discovery_backend = classic_config\n",
        one.amqp_port, user, password);
    for (int other = 0; other < nodes; ++other)
      conf +=
          fmt::format("cluster_formation.classic_config.nodes.{} = {}@localhost\n", other, name_of(other));
    write(fmt::format("{}/{}.conf", home, name_of(i)), conf);
  }
  name_server_ = std::make_unique<process>(
      command(0, "epmd", {"-port", std::to_string(name_server_port_), "-address", "127.0.0.1"}));
  for (int i = 0; i < nodes; ++i) launch(i);
  await_all();
  const auto khepri = ctl(0, "rabbitmqctl", {"eval", "rabbit_feature_flags:is_enabled(khepri_db)."});
  pauses_in_minority_ = khepri.find("true") == std::string::npos;
}

rabbit_cluster::~rabbit_cluster() {
  for (const auto& one : members_) one->server.reset();
}

// Nothing but our settings in its environment; it ends with this process.
process_options rabbit_cluster::command(int node, const std::string& program,
                                        const std::vector<std::string>& words) const {
  const auto& home = directory_.path();
  const auto& self = *members_[static_cast<std::size_t>(node)];
  const auto name = name_of(node);
  std::vector<std::string> proxies;
  for (int to = 0; to < nodes; ++to)
    if (to != node) proxies.push_back(fmt::format("{}={}", name_of(to), link(node, to).port()));
  const char* const path = root().empty() ? std::getenv("PATH") : nullptr;
  process_options how{
      .program = "setpriv", .arguments = {"--pdeathsig", "KILL", "--"}, .environment = {}, .log_file = {}};
  const auto add = [&](const std::vector<std::string>& more) {
    how.arguments.insert(how.arguments.end(), more.begin(), more.end());
  };
  if (!root().empty()) add({CLUSTER_SOURCES "/in-root", root(), home});
  add({"env",
       "-i",
       fmt::format("PATH={}", path != nullptr ? path : "/usr/sbin:/usr/bin:/sbin:/bin"),
       "LC_ALL=C.UTF-8",
       "HOME=" + home,
       fmt::format("ERL_EPMD_PORT={}", name_server_port_),
       "ERL_EPMD_ADDRESS=127.0.0.1",
       "RUNNING_UNDER_SYSTEMD=true",
       fmt::format("CLUSTER_PROXIES={}", fmt::join(proxies, ",")),
       "CLUSTER_QUEUE_STATES=" + states_file(node),
       fmt::format("RABBITMQ_NODENAME={}@localhost", name),
       "RABBITMQ_NODE_IP_ADDRESS=127.0.0.1",
       fmt::format("RABBITMQ_NODE_PORT={}", self.amqp_port),
       fmt::format("RABBITMQ_DIST_PORT={}", self.peer_port),
       fmt::format("RABBITMQ_MNESIA_BASE={}/mnesia", home),
       fmt::format("RABBITMQ_LOG_BASE={}/log", home),
       fmt::format("RABBITMQ_CONF_ENV_FILE={}/empty.conf", home),
       fmt::format("RABBITMQ_CONFIG_FILE={}/{}.conf", home, name),
       fmt::format("RABBITMQ_CONFIG_FILES={}/none", home),
       fmt::format("RABBITMQ_ADVANCED_CONFIG_FILE={}/advanced.config", home),
       fmt::format("RABBITMQ_ENABLED_PLUGINS_FILE={}/enabled_plugins", home),
       "RABBITMQ_SCHEDULER_BIND_TYPE=u",
       fmt::format("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=+S 2:2 -pa {} -epmd_module proxied_epmd"
                   " -run queue_states start {}",
                   home, loopback_only),
       fmt::format("RABBITMQ_CTL_ERL_ARGS={}", loopback_only),
       program});
  add(words);
  return how;
}

std::string rabbit_cluster::ctl(int node, const std::string& program,
                                const std::vector<std::string>& words) const {
  std::vector<std::string> all{"-q", "-n", name_of(node) + "@localhost"};
  all.insert(all.end(), words.begin(), words.end());
  const auto done = run_program(command(node, script(program), all), node_limit);
  if (!done.exited(0))
    throw std::runtime_error{fmt::format("{} {}: {}", program, fmt::join(words, " "), done.text())};
  return done.text();
}

tcp_proxy& rabbit_cluster::link(int from, int to) const {
  return *members_[static_cast<std::size_t>(to)]->from[static_cast<std::size_t>(from)];
}

void rabbit_cluster::launch(int node) {
  auto how = command(node, script("rabbitmq-server"), {});
  how.log_file = log_file(node);
  members_[static_cast<std::size_t>(node)]->server = std::make_unique<process>(how);
}

std::string rabbit_cluster::url(int node) const {
  return fmt::format("amqp://{}:{}@127.0.0.1:{}/%2f", user, password,
                     members_[static_cast<std::size_t>(node)]->amqp_port);
}

std::string rabbit_cluster::urls(int first) const {
  std::vector<std::string> all;
  for (int i = 0; i < nodes; ++i) all.push_back(url((first + i) % nodes));
  return fmt::format("{}", fmt::join(all, ","));
}

std::string rabbit_cluster::states_file(int node) const {
  return fmt::format("{}/{}.states", directory_.path(), name_of(node));
}

std::string rabbit_cluster::log_file(int node) const {
  return fmt::format("{}/{}.log", directory_.path(), name_of(node));
}

void rabbit_cluster::kill(int node) {
  auto& server = *members_[static_cast<std::size_t>(node)]->server;
  server.send(SIGKILL);
  server.wait(node_limit);
}

void rabbit_cluster::stop(int node) {
  auto& server = *members_[static_cast<std::size_t>(node)]->server;
  server.send(SIGTERM);
  server.wait(node_limit);
}

void rabbit_cluster::start(int node) {
  launch(node);
  eventually(
      fmt::format("{} is back", name_of(node)), [&] { return serves(node); }, node_limit);
}

void rabbit_cluster::start_over() {
  for (int i = 0; i < nodes; ++i) {
    reconnect(i);
    if (members_[static_cast<std::size_t>(i)]->server->running()) kill(i);
  }
  for (int i = 0; i < nodes; ++i) launch(i);
  await_all();
}

void rabbit_cluster::cut_off(int node, cut how) {
  for (int other = 0; other < nodes; ++other) {
    if (other == node) continue;
    for (auto* const one : {&link(node, other), &link(other, node)}) {
      if (how == cut::refused) {
        one->set(welcome::refuse);
        one->reset();
      } else {
        one->set(welcome::silence);
        one->set(direction::to_server, {flow::kind::stall, {}});
        one->set(direction::to_client, {flow::kind::stall, {}});
      }
    }
  }
}

void rabbit_cluster::reconnect(int node) {
  for (int other = 0; other < nodes; ++other) {
    if (other == node) continue;
    link(node, other).heal();
    link(other, node).heal();
  }
}

void rabbit_cluster::drain(int node) {
  ctl(node, "rabbitmq-upgrade", {"drain"});
}

void rabbit_cluster::revive(int node) {
  ctl(node, "rabbitmq-upgrade", {"revive"});
}

bool rabbit_cluster::serves(int node) const {
  auto& server = *members_[static_cast<std::size_t>(node)]->server;
  if (!server.running())
    throw std::runtime_error{fmt::format("{} has ended: {}", name_of(node), server.tail(30))};
  try {
    const broker_connection session{url(node)};
    return true;
  } catch (const broker_error&) {
    return false;
  }
}

void rabbit_cluster::await_all() const {
  for (int i = 0; i < nodes; ++i) {
    eventually(
        fmt::format("{} takes connections", name_of(i)), [&] { return serves(i); }, node_limit);
  }
  for (int i = 0; i < nodes; ++i) {
    eventually(
        fmt::format("{} sees all", name_of(i)),
        [&] {
          const auto status = ctl(i, "rabbitmqctl", {"cluster_status", "--formatter", "json"});
          return nlohmann::json::parse(status).at("running_nodes").size() == nodes;
        },
        node_limit);
  }
}

}  // namespace outboxd::cluster
