// publisher: the rate of confirmed publishes with the AMQP driver alone, which is the baseline of the drain.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "amqp/connection.hpp"
#include "amqp/rabbitmq.hpp"

namespace {

namespace asio = boost::asio;
namespace amqp = outboxd::amqp;
using namespace std::chrono_literals;

struct options {
  std::string url;
  std::uint64_t count = 200'000;
  std::size_t size = 200;  // bytes of body
  std::string queue_type = "quorum";
  std::size_t connections = 1;
  std::size_t window = 2000;  // unconfirmed messages per connection
  double rate = 0;            // messages per second in total; 0: unlimited
};

// A durable queue of the given type, declared with rabbitmq-c's blocking client and deleted at the end.
class queue {
 public:
  queue(const amqp::url& at, std::string name, const std::string& type) : name_(std::move(name)) {
    auto* const socket = amqp_tcp_socket_new(state_);
    check(amqp_socket_open(socket, at.host.c_str(), at.port) == AMQP_STATUS_OK, "connect");
    check(amqp_login(state_, at.vhost.c_str(), 0, 131072, 0, AMQP_SASL_METHOD_PLAIN, at.user.c_str(),
                     at.password.c_str())
                  .reply_type == AMQP_RESPONSE_NORMAL,
          "log in");
    amqp_channel_open(state_, 1);
    amqp_table_entry_t argument{};
    argument.key = amqp_cstring_bytes("x-queue-type");
    argument.value.kind = AMQP_FIELD_KIND_UTF8;
    argument.value.value.bytes = amqp_cstring_bytes(type.c_str());
    amqp_queue_declare(state_, 1, amqp_cstring_bytes(name_.c_str()), 0, 1, 0, 0, {1, &argument});
    check(amqp_get_rpc_reply(state_).reply_type == AMQP_RESPONSE_NORMAL, "declare the queue");
    // Uses an exchange like the relay's, because topic routing is part of the broker's cost per message.
    amqp_exchange_declare(state_, 1, exchange(), amqp_cstring_bytes("topic"), 0, 1, 0, 0, amqp_empty_table);
    check(amqp_get_rpc_reply(state_).reply_type == AMQP_RESPONSE_NORMAL, "declare the exchange");
    amqp_queue_bind(state_, 1, amqp_cstring_bytes(name_.c_str()), exchange(),
                    amqp_cstring_bytes(name_.c_str()), amqp_empty_table);
    check(amqp_get_rpc_reply(state_).reply_type == AMQP_RESPONSE_NORMAL, "bind the queue");
  }
  ~queue() {
    amqp_queue_delete(state_, 1, amqp_cstring_bytes(name_.c_str()), 0, 0);
    amqp_exchange_delete(state_, 1, exchange(), 0);
    amqp_connection_close(state_, AMQP_REPLY_SUCCESS);
    amqp_destroy_connection(state_);
  }
  queue(const queue&) = delete;
  queue& operator=(const queue&) = delete;
  const std::string& name() const { return name_; }

 private:
  // The exchange and the queue have the same name.
  amqp_bytes_t exchange() const { return amqp_cstring_bytes(name_.c_str()); }
  static void check(bool ok, const char* what) {
    if (!ok) throw std::runtime_error(fmt::format("cannot {}", what));
  }
  amqp_connection_state_t state_ = amqp_new_connection();
  std::string name_;
};

asio::awaitable<void> close(amqp::connection* connection) {
  co_await connection->close(2s);
}

// Keeps one connection's window full, or sends at the allowed rate, until its share is confirmed.
class publisher : public amqp::handler {
 public:
  publisher(asio::any_io_executor executor, amqp::connection& connection, const options& chosen,
            std::string queue, std::uint64_t share)
      : executor_(std::move(executor)),
        connection_(connection),
        queue_(std::move(queue)),
        body_(chosen.size, 'x'),
        share_(share),
        allowed_(chosen.rate > 0 ? 0 : share) {}

  // The total number that may be sent, until it is raised.
  void allow(std::uint64_t messages) {
    allowed_ = std::min(messages, share_);
    fill();
  }

  void fill() {
    while (sent_ < allowed_) {
      outboxd::message m;
      m.exchange = queue_;
      m.routing_key = queue_;
      m.message_id = fmt::format("00000000-0000-4000-8000-{:012}", sent_);
      m.type = "order.created";
      m.content_type = "application/json";
      m.timestamp = 1'700'000'000;
      m.aggregate_type = "order";
      m.aggregate_id = "42";
      m.seq = static_cast<std::int64_t>(sent_);
      m.occurred_at = "2023-11-14T22:13:20.000000Z";
      m.headers = "{}";
      m.body = body_;
      const auto taken = connection_.publish(sent_, m);
      if (!taken) throw std::runtime_error(taken.error().message);
      if (*taken == amqp::accepted::full) return;
      ++sent_;
    }
  }

  void on_outcomes(std::span<const amqp::outcome> outcomes) override {
    for (const auto& o : outcomes) ++(o.what == amqp::verdict::acked ? acked_ : refused_);
    if (acked_ + refused_ == share_) asio::co_spawn(executor_, close(&connection_), asio::detached);
  }
  void on_channel_closed(std::span<const outboxd::token>, const outboxd::refusal& why) override {
    fmt::print(stderr, "channel closed: {}\n", why.reason);
    connection_.abort();
  }
  void on_writable() override { fill(); }
  void on_blocked(std::string_view reason) override { fmt::print(stderr, "blocked: {}\n", reason); }
  void on_unblocked() override { fmt::print(stderr, "unblocked\n"); }

  bool all_sent() const { return sent_ == share_; }
  std::uint64_t acked() const { return acked_; }
  std::uint64_t refused() const { return refused_; }

 private:
  asio::any_io_executor executor_;
  amqp::connection& connection_;
  std::string queue_;
  std::string body_;
  std::uint64_t share_;
  std::uint64_t allowed_;
  std::uint64_t sent_ = 0;
  std::uint64_t acked_ = 0;
  std::uint64_t refused_ = 0;
};

struct worker {
  worker(const asio::any_io_executor& executor, const amqp::connection_settings& settings,
         const options& chosen, const std::string& queue)
      : connection(executor, settings),
        work(executor, connection, chosen, queue, chosen.count / chosen.connections) {}
  amqp::connection connection;
  publisher work;
};

// In bursts, like a busy relay that polls, because the broker's cost per message depends on this.
asio::awaitable<void> keep_pace(worker* w, double messages_per_second) {
  constexpr auto burst = 50ms;
  asio::steady_timer timer(co_await asio::this_coro::executor);
  const auto began = std::chrono::steady_clock::now();
  while (!w->work.all_sent()) {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - began;
    w->work.allow(static_cast<std::uint64_t>(messages_per_second * passed.count()));
    timer.expires_after(burst);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

asio::awaitable<void> publish_all(worker* w, double messages_per_second) {
  const auto opened = co_await w->connection.open();
  if (!opened) {
    fmt::print(stderr, "{}\n", opened.error().message);
    co_return;
  }
  if (messages_per_second > 0)
    asio::co_spawn(co_await asio::this_coro::executor, keep_pace(w, messages_per_second), asio::detached);
  else
    w->work.fill();
  const auto why = co_await w->connection.run(w->work);
  if (w->connection.unconfirmed() > 0) fmt::print(stderr, "{}\n", why.message);
}

double cpu_seconds() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(u.ru_utime) + seconds(u.ru_stime);
}

int bench(const options& chosen) {
  const auto target = amqp::parse_url(chosen.url);
  if (!target) throw std::runtime_error(target.error().message);
  const queue q(*target, fmt::format("outboxd.bench.publisher.{}", getpid()), chosen.queue_type);

  asio::io_context context;
  std::vector<std::unique_ptr<worker>> workers;
  for (std::size_t i = 0; i < chosen.connections; ++i) {
    amqp::connection_settings settings;
    settings.target = *target;
    settings.connection_name = fmt::format("outboxd bench {}", i + 1);
    settings.max_unconfirmed = chosen.window;
    workers.push_back(std::make_unique<worker>(context.get_executor(), settings, chosen, q.name()));
  }
  const auto started = std::chrono::steady_clock::now();
  const double cpu_before = cpu_seconds();
  for (const auto& w : workers)
    asio::co_spawn(context, publish_all(w.get(), chosen.rate / static_cast<double>(chosen.connections)),
                   asio::detached);
  context.run();
  const double cpu = cpu_seconds() - cpu_before;
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();

  std::uint64_t acked = 0;
  std::uint64_t refused = 0;
  for (const auto& w : workers) acked += w->work.acked(), refused += w->work.refused();
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  fmt::print(
      "queue={} connections={} size={} confirmed={} refused={} seconds={:.2f} confirms_per_second={:.0f} "
      "cpu_us_per_message={:.2f} max_rss_mb={}\n",
      chosen.queue_type, chosen.connections, chosen.size, acked, refused, wall,
      static_cast<double>(acked) / wall, acked == 0 ? 0.0 : cpu * 1e6 / static_cast<double>(acked),
      u.ru_maxrss / 1024);
  return acked == chosen.count / chosen.connections * chosen.connections ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  options chosen;
  CLI::App app{"Publishes through the AMQP driver alone and prints confirms per second"};
  app.add_option("--url", chosen.url, "the broker, amqp://user:password@host:port/vhost")
      ->envname("OUTBOXD_AMQP_URL")
      ->required();
  app.add_option("--count", chosen.count, "messages in all")->check(CLI::PositiveNumber);
  app.add_option("--size", chosen.size, "bytes of a body");
  app.add_option("--queue-type", chosen.queue_type)->check(CLI::IsMember({"quorum", "classic", "stream"}));
  app.add_option("--connections", chosen.connections)->check(CLI::Range(1, 64));
  app.add_option("--window", chosen.window, "unconfirmed messages per connection")
      ->check(CLI::PositiveNumber);
  app.add_option("--rate", chosen.rate, "messages per second in all; 0: as fast as it can")
      ->check(CLI::NonNegativeNumber);
  CLI11_PARSE(app, argc, argv);
  try {
    return bench(chosen);
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}
