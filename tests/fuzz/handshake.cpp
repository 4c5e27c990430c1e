// Fuzzes the handshake with everything that a broker says. It ends with a tuning within the limits or with an
// error that shows no password; what it sends is whole frames; it never sends more than a few answers.
#include "amqp/handshake.hpp"

#include "feed.hpp"
#include "input.hpp"

using namespace outboxd;
using fuzz::must;

namespace {

constexpr std::string_view password = "canary-7d1f";

amqp::handshake_settings settings(std::uint8_t choice) {
  amqp::handshake_settings out;
  out.target.password = password;
  out.connection_name = "outboxd";
  out.heartbeat = std::chrono::seconds(choice & 4 ? 10 : 0);
  if (choice & 1) out.declare_exchanges = {"outbox", "dead"};
  if (choice & 2) out.target.vhost = "fuzz";
  return out;
}

void check_sent(std::string_view sent) {
  constexpr std::string_view hello("AMQP\0\0\x09\x01", 8);
  must(sent.size() < 16 * 1024, "a handshake sends little");
  if (sent.starts_with(hello)) sent.remove_prefix(hello.size());
  amqp::frame_parser parser(amqp::frame_max_own);
  while (!sent.empty()) {
    fuzz::feed(parser, sent, sent.size());
    for (auto next = parser.next();; next = parser.next()) {
      must(next.has_value(), "what is sent is frames");
      if (!*next) break;
    }
  }
  must(parser.unread().empty(), "what is sent is whole frames");
}

void check_tuned(const amqp::tuning& tuned) {
  must(tuned.frame_max >= amqp::frame_min_size && tuned.frame_max <= amqp::frame_max_own,
       "frame_max in range");
  must(tuned.channel_max >= 1, "there is room for a channel");
  must(tuned.heartbeat.count() <= 65535, "the heartbeat fits the wire");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in(data, size);
  amqp::handshake shake(settings(in.byte()));
  const std::size_t piece = std::size_t{1} << (in.byte() % 14);
  const auto said = in.rest();
  auto bytes = said;
  amqp::frame_parser parser(amqp::frame_max_untuned);
  result<bool> done = false;
  while (done && !*done && !bytes.empty()) {
    fuzz::feed(parser, bytes, piece);
    done = shake.receive(parser);
  }
  check_sent(shake.output());
  if (done && *done) check_tuned(shake.tuned());
  const auto words = done ? shake.interrupted("fuzz").message : done.error().message;
  // Unless the broker says it first: libFuzzer learns the password from what is sent.
  must(words.find(password) == std::string::npos || said.find(password) != std::string_view::npos,
       "no error shows the password");
  return 0;
}
