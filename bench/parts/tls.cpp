// tls: the cost of encrypted connections for relay and broker.
#include <fmt/format.h>

#include "parts/beside.hpp"
#include "parts/part.hpp"
#include "support/tls_listener.hpp"

namespace outboxd::bench {
namespace {

class tls : public part {
 public:
  const char* name() const override { return "tls"; }
  const char* help() const override { return "drain over amqps, beside a drain over amqp"; }
  void be_quick() override {
    fill_.events = 5'000;
    rounds_ = 1;
  }
  void add_options(CLI::App& at) override {
    at.add_option("--events", fill_.events, "of each drain")->check(CLI::PositiveNumber);
    at.add_option("--size", fill_.size, "bytes of payload")->check(CLI::NonNegativeNumber);
    at.add_option("--lanes", lanes_)->check(CLI::Range(1, 64));
    at.add_option("--rounds", rounds_)->check(CLI::Range(1, 100));
  }

  void run(const setup& on, report& out) override {
    out.note(
        fmt::format("{} events of {} bytes, {} lanes, quorum queue; the broker's certificate is verified",
                    fill_.events, fill_.size, lanes_));
    test::certificate_authority authority("outboxd-bench-tls");
    const test::tls_listener encrypted(authority, authority.issue());
    stage plain(on);
    stage secured(on);
    drain_beside(
        on, out, plain, "amqp", secured, "amqps",
        {.fill = fill_,
         .rounds = rounds_,
         .relay_flags = {"--relay-lanes", std::to_string(lanes_)},
         .crowded_flags = {"--amqp-url",
                           encrypted.url("amqps", "localhost", "outboxd", test::password_of(on.amqp_url)),
                           "--amqp-tls-ca-file", authority.file()}});
  }

 private:
  filling fill_{.events = 200'000};
  int lanes_ = default_lanes;
  int rounds_ = 6;
};

}  // namespace

std::unique_ptr<part> tls_part() {
  return std::make_unique<tls>();
}

}  // namespace outboxd::bench
