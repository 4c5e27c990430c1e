// http_allowed_hosts_test: which Host header is answered.
#include <doctest/doctest.h>

#include "http/allowed_hosts.hpp"

namespace http_allowed_hosts_test {

using namespace outboxd::http;

TEST_CASE("IP addresses and local names are answered, with and without a port, and other names are not") {
  const allowed_hosts hosts;
  for (const auto* good :
       {"127.0.0.1", "127.0.0.1:9464", "10.1.2.3:80", "[::1]", "[::1]:9464", "localhost", "localhost:9464",
        "LocalHost:1", "localhost:", "outboxd", "relay_a:9464", "2130706433", "outboxd.shop.svc",
        "outboxd.shop.svc:9464", "10-1-2-3.outboxd.shop.svc", "Outboxd.Shop.SVC.cluster.local:9464"}) {
    CAPTURE(good);
    CHECK(hosts.allow(good));
  }
  for (const auto* bad : {"",
                          ":80",
                          "evil.example",
                          "evil.example:9464",
                          "127.0.0.1.evil.example",
                          "localhost.evil.example",
                          "evil.localhost",
                          "localhost:80:80",
                          "::1",
                          "[::1",
                          "[evil]:80",
                          "[127.0.0.1]",
                          "127.0.0.1@evil",
                          "localhost.",
                          "127.0.0.1 ",
                          "local host",
                          "outboxd.shop",
                          "outboxd.shop.svc.",
                          "svc.evil.example",
                          "outboxd.shop.svc.evil.example",
                          "evil.cluster.local",
                          "evil.example/.svc",
                          "evil.example@a.svc",
                          "evil.examplesvc",
                          "a b.svc"}) {
    CAPTURE(bad);
    CHECK_FALSE(hosts.allow(bad));
  }
}

TEST_CASE("names that are allowed are answered in any case") {
  const auto hosts = allowed_hosts::parse("Relay.internal, other,");
  REQUIRE(hosts.has_value());
  CHECK(hosts->allow("relay.internal"));
  CHECK(hosts->allow("RELAY.INTERNAL:9464"));
  CHECK(hosts->allow("other"));
  CHECK(hosts->allow("localhost"));
  CHECK_FALSE(hosts->allow("other.internal"));
  CHECK_FALSE(hosts->allow("relay.internal.evil"));
}

TEST_CASE("a star allows every name, and nothing allows none") {
  CHECK(allowed_hosts::parse("a,*")->allow("evil.example"));
  CHECK_FALSE(allowed_hosts::parse("")->allow("evil.example"));
}

TEST_CASE("what is no host name cannot be allowed") {
  for (const auto* wrong : {"relay:9464", "http://relay", "*.internal", "a b", "[::1]"}) {
    CAPTURE(wrong);
    CHECK_FALSE(allowed_hosts::parse(wrong).has_value());
  }
}

}  // namespace http_allowed_hosts_test
