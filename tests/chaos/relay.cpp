// relay: the lives of one relay.
#include "relay.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <fstream>
#include <random>
#include <utility>

#include "support/eventually.hpp"
#include "support/servers.hpp"

namespace outboxd::chaos {

using namespace std::chrono_literals;
using namespace test;

namespace {

std::string delays(int count, std::chrono::milliseconds each) {
  std::string all;
  for (int i = 0; i < count; ++i) all += fmt::format("{}{}ms", i == 0 ? "" : ",", each.count());
  return all;
}

}  // namespace

std::map<std::string, std::string> relay_settings::environment() const {
  const auto ms = [](std::chrono::milliseconds span) { return fmt::format("{}ms", span.count()); };
  std::map<std::string, std::string> all{
      {"OUTBOXD_DATABASE_URL", ""},
      {"OUTBOXD_AMQP_URL", ""},
      {"OUTBOXD_RELAY_LANES", std::to_string(lanes)},
      {"OUTBOXD_RELAY_BATCH", std::to_string(batch)},
      {"OUTBOXD_RELAY_CLAIM_TIMEOUT", ms(claim_timeout)},
      {"OUTBOXD_AMQP_CONFIRM_TIMEOUT", ms(confirm_timeout)},
      {"OUTBOXD_RELAY_SWEEP_INTERVAL", ms(sweep_interval)},
      {"OUTBOXD_RELAY_SHUTDOWN_GRACE", ms(shutdown_grace)},
      {"OUTBOXD_AMQP_HEARTBEAT", "2s"},
      {"OUTBOXD_RETRY_SCHEDULE", delays(retries, retry_delay)},
      {"OUTBOXD_RETRY_GIVE_UP_AFTER", ms(give_up_after)},
      {"OUTBOXD_LOG_LEVEL", "debug"},
      {"OUTBOXD_HTTP_LISTEN", "127.0.0.1:0"},
  };
  for (const auto& [name, value] : extra) all[name] = value;
  return all;
}

relay::relay(int number, arena& where, const relay_settings& how, keeper& guard)
    : number_{number},
      arena_{where},
      settings_{how},
      keeper_{guard},
      database_link_{where.database_port()},
      broker_link_{where.broker_port()} {
  write_secrets();
}

relay::~relay() {
  kill();
}

std::string relay::name() const {
  return fmt::format("relay_{}", number_);
}

void relay::write_secrets() {
  write_secret(arena_.logs() / fmt::format("relay-{}.database", number_),
               arena_.relay_database_url(database_link_.port(), name()));
  write_secret(arena_.logs() / fmt::format("relay-{}.broker", number_),
               arena_.relay_broker_url(broker_link_.port()));
}

void relay::start() {
  const std::lock_guard lock{mutex_};
  if (process_) return;
  stopping_ = false;
  ++lives_;
  log_files_.push_back(arena_.logs() / fmt::format("relay-{}.{}.log", number_, lives_));
  auto environment = settings_.environment();
  environment.erase("OUTBOXD_DATABASE_URL");
  environment.erase("OUTBOXD_AMQP_URL");
  if (settings_.failpoints) environment["OUTBOXD_FAILPOINT"] = next_failpoint();
  process_ = std::make_shared<process>(process_options{.program = "/usr/bin/env",
                                                       .arguments = run_arguments(),
                                                       .environment = environment,
                                                       .log_file = log_files_.back()});
  keeper_.started(process_->pid());
}

std::vector<std::string> relay::run_arguments() const {
  const std::string database = arena_.logs() / fmt::format("relay-{}.database", number_);
  const std::string broker = arena_.logs() / fmt::format("relay-{}.broker", number_);
  std::vector<std::string> out{
      "-u", "OUTBOXD_DATABASE_URL", "-u", "OUTBOXD_AMQP_URL", arena_.outboxd().string(), "run"};
  if (settings_.beside == nullptr) {
    out.insert(out.end(), {"--database-url-file", database, "--amqp-url-file", broker});
    return out;
  }
  const auto folder = arena_.logs() / fmt::format("relay-{}.outboxes", number_);
  std::filesystem::create_directories(folder);
  settings_.beside->write_files(folder);
  std::ofstream{folder / "main.toml", std::ios::trunc}
      << fmt::format("[database]\nurl_file = \"{}\"\n[amqp]\nurl_file = \"{}\"\n", database, broker);
  out.insert(out.end(), {"--outboxes", folder});
  return out;
}

// See src/core/failpoint.hpp.
std::string relay::next_failpoint() const {
  constexpr std::array points{"claimed", "sent", "acked", "marking", "marked"};
  std::seed_seq mixed{static_cast<std::uint32_t>(settings_.seed), static_cast<std::uint32_t>(number_),
                      static_cast<std::uint32_t>(lives_)};
  std::mt19937 random{mixed};
  const auto* const name = points.at(random() % points.size());
  return fmt::format("{}:{}", name, 1 + random() % 60);
}

bool relay::await_connected(std::chrono::milliseconds limit) {
  std::shared_ptr<process> mine;
  {
    const std::lock_guard lock{mutex_};
    mine = process_;
  }
  if (!mine) return false;
  try {
    const std::string outbox = settings_.beside != nullptr ? "main: " : "";
    mine->wait_line(outbox + "connected to PostgreSQL", limit);
    mine->wait_line(outbox + "connected to RabbitMQ", limit);
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

bool relay::running() {
  const std::lock_guard lock{mutex_};
  return process_ && process_->running();
}

void relay::forget(const exit_status& status, bool asked) {
  keeper_.ended(process_->pid());
  for (auto& line : process_->all_lines()) lines_.push_back(std::move(line));
  deaths_.push_back({.life = lives_, .status = status, .asked = asked, .last_words = process_->tail(3)});
  process_.reset();
}

std::optional<exit_status> relay::kill() {
  const std::lock_guard lock{mutex_};
  if (!process_) return std::nullopt;
  process_->send(SIGKILL);
  const auto ended = process_->wait(60s);
  forget(ended, true);
  return ended;
}

void relay::freeze() {
  const std::lock_guard lock{mutex_};
  if (!process_) return;
  process_->send(SIGSTOP);
}

void relay::thaw() {
  const std::lock_guard lock{mutex_};
  if (process_) process_->send(SIGCONT);
}

bool relay::frozen() {
  const std::lock_guard lock{mutex_};
  return process_ && is_stopped(process_->pid());
}

std::optional<exit_status> relay::stop(std::chrono::milliseconds limit) {
  std::shared_ptr<process> mine;
  bool asked = false;
  {
    const std::lock_guard lock{mutex_};
    mine = process_;
    asked = std::exchange(stopping_, true);
  }
  if (!mine) return std::nullopt;
  if (!asked) mine->send(SIGTERM);  // a second signal, from another fault, would end it at once
  std::optional<exit_status> ended;
  try {
    ended = mine->wait(limit);
  } catch (const deadline_passed&) {
    mine->send(SIGKILL);
    mine->wait(60s);
  }
  const std::lock_guard lock{mutex_};
  if (process_ != mine) return ended;
  forget(ended.value_or(exit_status{std::nullopt, SIGKILL}), true);
  deaths_.back().overdue = !ended;
  return ended;
}

std::optional<death> relay::take_unasked_death() {
  const std::lock_guard lock{mutex_};
  if (!process_ || stopping_ || process_->running()) return std::nullopt;
  forget(process_->wait(1s), false);
  auto last = deaths_.back();
  deaths_.pop_back();
  return last;
}

void relay::record(death one) {
  const std::lock_guard lock{mutex_};
  deaths_.push_back(std::move(one));
}

footprint relay::now() {
  const std::lock_guard lock{mutex_};
  return process_ ? footprint_of(process_->pid()) : footprint{};
}

std::size_t relay::lines_with(const std::string& part) {
  const auto lines = all_lines();
  return static_cast<std::size_t>(std::count_if(lines.begin(), lines.end(), [&](const std::string& line) {
    return line.find(part) != std::string::npos;
  }));
}

std::vector<std::string> relay::all_lines() {
  const std::lock_guard lock{mutex_};
  auto all = lines_;
  if (process_)
    for (auto& line : process_->lines()) all.push_back(std::move(line));
  return all;
}

std::vector<death> relay::deaths() {
  const std::lock_guard lock{mutex_};
  return deaths_;
}

std::vector<std::filesystem::path> relay::log_files() {
  const std::lock_guard lock{mutex_};
  return log_files_;
}

int relay::lives() {
  const std::lock_guard lock{mutex_};
  return lives_;
}

std::uint16_t relay::http_port() {
  constexpr std::string_view said_at = "listening on http://127.0.0.1:";
  std::shared_ptr<process> mine;
  {
    const std::lock_guard lock{mutex_};
    mine = process_;
  }
  if (!mine) throw std::runtime_error{name() + " does not run"};
  const auto line = mine->wait_line(std::string{said_at}, 60s);
  return static_cast<std::uint16_t>(std::stoi(line.substr(line.find(said_at) + said_at.size())));
}

footprint footprint_of(pid_t pid) {
  footprint seen;
  std::error_code failed;
  for (const auto& one : std::filesystem::directory_iterator{fmt::format("/proc/{}/fd", pid), failed}) {
    static_cast<void>(one);
    ++seen.descriptors;
  }
  std::ifstream status{fmt::format("/proc/{}/status", pid)};
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) seen.resident_kb = std::stoul(line.substr(6));
  return seen;
}

}  // namespace outboxd::chaos
