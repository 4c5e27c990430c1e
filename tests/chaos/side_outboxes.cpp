#include "side_outboxes.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "support/broker.hpp"
#include "support/consumer.hpp"
#include "support/database.hpp"
#include "support/eventually.hpp"
#include "support/history.hpp"
#include "support/process.hpp"

namespace outboxd::chaos {

using namespace std::chrono_literals;
using namespace test;

namespace {

constexpr auto drain_limit = 300s;
constexpr auto between_events = 10ms;
constexpr int aggregates = 20;
constexpr auto side_end_mark = "end-mark";

void migrate(const std::filesystem::path& outboxd, const std::string& url) {
  process migration{{.program = outboxd,
                     .arguments = {"migrate"},
                     .environment = {{"OUTBOXD_DATABASE_URL", url}},
                     .log_file = {}}};
  if (migration.wait(60s) != exit_status{.code = 0, .signal = {}})
    throw std::runtime_error{"a side outbox cannot be migrated: " + migration.tail()};
}

}  // namespace

class side_outboxes::one {
 public:
  one(const std::filesystem::path& outboxd, std::string name)
      : name_{std::move(name)},
        queue_{fmt::format("chaos.{}.{}", ::getpid(), name_)},
        broker_url_{required_environment("OUTBOXD_TEST_OTHER_AMQP_URL")},
        database_{required_environment("OUTBOXD_TEST_OTHER_DATABASE_URL")},
        broker_{broker_url_} {
    migrate(outboxd, database_.url());
    broker_.declare_exchange("outbox");
    broker_.declare_queue(queue_, queue_type::classic);
    broker_.bind(queue_, "outbox", queue_);
    writer_ = std::jthread{[this](const std::stop_token& stop) { write(stop); }};
  }
  ~one() {
    end_writer();
    try {
      broker_.delete_queue(queue_);
    } catch (const std::exception& left) {
      fmt::print(stderr, "the queue {} is left behind: {}\n", queue_, left.what());
    }
  }
  one(const one&) = delete;
  one& operator=(const one&) = delete;

  void write_file(const std::filesystem::path& folder) const {
    std::ofstream{folder / (name_ + ".toml"), std::ios::trunc}
        << fmt::format("[database]\nurl = \"{}\"\n[amqp]\nurl = \"{}\"\n", database_.url(), broker_url_);
  }

  std::vector<std::string> finish(std::string& words) {
    end_writer();
    if (failed_) std::rethrow_exception(failed_);
    auto session = database_.connect();
    std::vector<std::string> out;
    try {
      eventually(
          "the side outbox is drained",
          [&] {
            return session.number("SELECT count(*) FROM outbox.event WHERE status <> 'published'") == 0;
          },
          drain_limit);
    } catch (const deadline_passed&) {
      out.push_back(name_ + " is not drained");
    }
    history seen;
    read_queue(seen);
    const auto report = seen.check(committed_events(session));
    if (!report.sound()) out.push_back(name_ + ": " + report.words());
    words += fmt::format("\n{}: {} events, {} duplicates", name_, report.committed, report.duplicates);
    return out;
  }

 private:
  void end_writer() {
    writer_.request_stop();
    if (writer_.joinable()) writer_.join();
  }
  void write(const std::stop_token& stop) {
    try {
      auto session = database_.connect();
      for (int n = 0; !stop.stop_requested(); ++n) {
        session.exec("SELECT outbox.emit('side', $1, $2, '{}')", {std::to_string(n % aggregates), queue_});
        std::this_thread::sleep_for(between_events);
      }
    } catch (...) {
      failed_ = std::current_exception();
    }
  }

  void read_queue(history& into) {
    broker_.publish("", queue_, "", side_end_mark);
    consumer reader{queue_, 500, broker_url_};
    for (;;) {
      auto message = reader.next(drain_limit);
      if (!message) throw std::runtime_error{"the queue " + queue_ + " does not come to its end"};
      reader.ack(*message);
      if (message->message_id() == side_end_mark) return;
      into.record(std::move(*message));
    }
  }

  std::string name_;
  std::string queue_;
  std::string broker_url_;
  fresh_database database_;
  broker broker_;
  std::exception_ptr failed_;  // read after the writer has ended
  std::jthread writer_;
};

side_outboxes::side_outboxes(const std::filesystem::path& outboxd, int count) {
  for (int i = 1; i <= count; ++i) all_.push_back(std::make_unique<one>(outboxd, fmt::format("side-{}", i)));
}

side_outboxes::~side_outboxes() = default;

void side_outboxes::write_files(const std::filesystem::path& folder) const {
  for (const auto& each : all_) each->write_file(folder);
}

std::vector<std::string> side_outboxes::finish(std::string& words) {
  std::vector<std::string> out;
  for (const auto& each : all_) {
    const auto wrong = each->finish(words);
    out.insert(out.end(), wrong.begin(), wrong.end());
  }
  return out;
}

}  // namespace outboxd::chaos
