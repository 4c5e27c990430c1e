#include "stage/readers.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "stage/pause.hpp"
#include "support/http_client.hpp"

namespace outboxd::bench {
namespace {

using namespace std::chrono_literals;
using reading_clock = std::chrono::steady_clock;

// The intervals of src/console/web/page_now.js and page_stuck.js, from a response to the next request.
constexpr auto pause_of_now = 2s;
constexpr auto pause_of_stuck = 5s;
constexpr auto pause_of_checks = 60s;

std::string body_of(test::http_client& client, const std::string& path) {
  auto answer = client.get(path);
  if (answer.status != 200)
    throw std::runtime_error(fmt::format("{}: {} {}", path, answer.status, answer.body));
  return std::move(answer.body);
}

// Requests only the chart points that it has not received yet.
class now_page {
 public:
  void ask(test::http_client& client) {
    const auto told = nlohmann::json::parse(body_of(client, fmt::format("/api/now?after={}", after_)));
    if (const auto& points = told.at("figures"); !points.empty()) after_ = points.back().at(0).get<double>();
  }

 private:
  double after_ = 0;
};

class stuck_page {
 public:
  void ask(test::http_client& client) {
    body_of(client, "/api/stuck");
    if (reading_clock::now() < checks_next_) return;
    checks_next_ = reading_clock::now() + pause_of_checks;
    body_of(client, "/api/checks");
  }

 private:
  reading_clock::time_point checks_next_{};
};

}  // namespace

readers::readers(std::uint16_t port, int count) : port_(port), readers_(static_cast<std::size_t>(count)) {
  for (std::size_t i = 0; i < readers_.size(); ++i) readers_[i].of_now = i % 2 == 0;
  for (auto& one : readers_)
    threads_.emplace_back([this, &one](const std::stop_token& stop) { read(one, stop); });
}

readers_tally readers::leave() {
  for (auto& one : threads_) one.request_stop();
  for (auto& one : threads_) one.join();
  readers_tally out;
  for (const auto& one : readers_) {
    if (!one.failure.empty()) throw std::runtime_error("a reader of the console: " + one.failure);
    auto& to = one.of_now ? out.now_ms : out.stuck_ms;
    to.insert(to.end(), one.answered_ms.begin(), one.answered_ms.end());
  }
  return out;
}

void readers::read(reader& by, const std::stop_token& stop) {
  try {
    look(by, stop);
  } catch (const std::exception& why) {
    by.failure = why.what();
    if (by.answered_ms.empty()) ++seeing_;  // failures are reported by leave()
  }
}

void readers::look(reader& by, const std::stop_token& stop) {
  // Staggers the requests, as if the pages had been opened at different times.
  constexpr auto apart = 200ms;
  if (!pause(stop, apart * (&by - readers_.data()))) return;
  test::http_client client(port_);
  now_page now;
  stuck_page stuck;
  do {
    const auto began = reading_clock::now();
    if (by.of_now)
      now.ask(client);
    else
      stuck.ask(client);
    by.answered_ms.push_back(std::chrono::duration<double, std::milli>(reading_clock::now() - began).count());
    if (by.answered_ms.size() == 1) ++seeing_;
  } while (pause(stop, by.of_now ? pause_of_now : pause_of_stuck));
}

}  // namespace outboxd::bench
