// effect_consumer: applies each event's effect in a transaction with first_time, until it is killed. The
// arguments are a queue and a name. It acknowledges late, so that a kill leaves work that was done and will
// be handed out again.
#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "support/consumer.hpp"
#include "support/database.hpp"

namespace {

using namespace outboxd::test;

constexpr std::uint16_t prefetch = 40;
constexpr int ack_every = 20;
constexpr std::chrono::milliseconds idle{100};  // then it acknowledges what there is

void apply(database& session, const std::string& name, const delivery& message) {
  session.exec("BEGIN");
  const bool first =
      session.value("SELECT outbox.first_time($1, $2::uuid)", {name, message.message_id()}) == "t";
  if (first) session.exec("INSERT INTO effect (event_id) VALUES ($1::uuid)", {message.message_id()});
  session.exec("COMMIT");
  fmt::print("{} {}\n", first ? "applied" : "again", message.message_id());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    database session{required_environment("OUTBOXD_DATABASE_URL")};
    session.exec("SET synchronous_commit = off");  // this program is killed, not the server
    consumer queue{argv[1], prefetch};
    std::uint64_t processed = 0;  // the latest delivery's tag
    for (int unacknowledged = 0;;) {
      if (const auto message = queue.next(idle)) {
        apply(session, argv[2], *message);
        processed = message->tag;
        if (++unacknowledged < ack_every) continue;
      }
      // By its tag: 0 would acknowledge what was prefetched as well.
      if (unacknowledged > 0) queue.ack(processed, /*multiple=*/true);
      unacknowledged = 0;
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "effect_consumer: {}\n", error.what());
    return 1;
  }
}
