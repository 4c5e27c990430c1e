#include "paced_writers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <random>
#include <utility>

#include "support/database.hpp"
#include "support/eventually.hpp"

namespace outboxd::cluster {
namespace {

using namespace std::chrono_literals;
using namespace test;

constexpr auto pace = 20ms;  // between two transactions of a writer
constexpr auto writer_limit = 300s;
constexpr int aggregates = 40;  // of each writer: so each has an order

database connect(const std::string& url) {
  return std::move(*eventually(
      "PostgreSQL takes connections",
      [&]() -> std::optional<database> {
        try {
          return database{url};
        } catch (const database_error&) {
          return std::nullopt;
        }
      },
      writer_limit));
}

std::string new_id(std::mt19937_64& random) {
  const auto high = random();
  const auto low = random();
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32U, (high >> 16U) & 0xFFFFU,
                     high & 0xFFFFU, low >> 48U, low & 0xFFFFFFFFFFFFU);
}

std::optional<std::int64_t> position(const std::string& text) {
  return std::stoll(text);
}

}  // namespace

paced_writers::paced_writers(std::string url, std::string event_type, std::uint64_t seed)
    : url_{std::move(url)}, event_type_{std::move(event_type)}, seed_{seed} {
  for (int i = 0; i < writers; ++i)
    threads_.emplace_back([this, i] {
      try {
        run(i);
      } catch (...) {
        const std::lock_guard lock{mutex_};
        if (!failure_) failure_ = std::current_exception();
        stop();
      }
    });
}

paced_writers::~paced_writers() {
  stop();
  for (auto& one : threads_) one.join();
}

void paced_writers::stop() {
  state_ = state::stopping;
  state_.notify_all();
}

// One that has stopped stays so.
void paced_writers::go_on(state from, state to) {
  state_.compare_exchange_strong(from, to);
  state_.notify_all();
}

void paced_writers::pause() {
  go_on(state::writing, state::paused);
  eventually(
      "the writers rest", [this] { return resting_ == writers || state_ == state::stopping; }, writer_limit);
  const std::lock_guard lock{mutex_};
  if (failure_) std::rethrow_exception(failure_);
}

void paced_writers::resume() {
  go_on(state::paused, state::writing);
  eventually(
      "the writers write again", [this] { return resting_ == 0 || state_ == state::stopping; }, writer_limit);
}

std::vector<written> paced_writers::all() const {
  const std::lock_guard lock{mutex_};
  return written_;
}

void paced_writers::run(int number) {
  std::mt19937_64 random{seed_ * 1000 + static_cast<std::uint64_t>(number)};
  auto session = connect(url_);
  while (state_ != state::stopping) {
    if (state_ == state::paused) {
      ++resting_;
      state_.wait(state::paused);
      --resting_;
      continue;
    }
    written now;
    now.port = std::stoi(PQport(session.handle()));
    const auto count = 1 + random() % 5;
    for (std::uint64_t i = 0; i < count; ++i) now.ids.push_back(new_id(random));
    try {
      const auto rows = session.exec(
          "INSERT INTO outbox.event (id, aggregate_type, aggregate_id, event_type, payload)"
          " SELECT u.id, 'order', $2 || '-' || ($3::int + u.n / 2) % $4::int, $5, jsonb_build_object('n', "
          "u.n)"
          " FROM unnest($1::uuid[]) WITH ORDINALITY AS u (id, n) RETURNING pg_current_wal_insert_lsn() - "
          "'0/0'",
          {fmt::format("{{{}}}", fmt::join(now.ids, ",")), std::to_string(number),
           std::to_string(random() % aggregates), std::to_string(aggregates), event_type_});
      now.acknowledged = true;
      now.after = position(*rows.front().front());
      now.before = position(session.value("SELECT pg_current_wal_insert_lsn() - '0/0'"));
    } catch (const database_error&) {
      if (PQstatus(session.handle()) == CONNECTION_OK) throw;
      session = connect(url_);
    }
    {
      const std::lock_guard lock{mutex_};
      written_.push_back(std::move(now));
    }
    std::this_thread::sleep_for(pace);
  }
}

}  // namespace outboxd::cluster
