// Fuzzes the AMQP URL. What it shows of itself has no password in it and is a URL of the same place.
#include "amqp/url.hpp"

#include "input.hpp"

using namespace outboxd;
using fuzz::must;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in(data, size);
  const auto text = in.rest();
  const auto first = amqp::parse_url(text);
  if (!first) {
    must(first.error().kind == fault::permanent, "a bad URL does not get better");
    return 0;
  }
  must(first->port != 0 && !first->host.empty(), "there is a host and a port");
  must(first->vhost.size() <= 255, "the vhost fits a short string");
  const auto again = amqp::parse_url(first->display());
  must(again.has_value(), "a displayed URL is a URL");
  must(again->user == first->user && again->host == first->host && again->port == first->port &&
           again->vhost == first->vhost,
       "a displayed URL is the same place");
  must(again->password == amqp::url().password, "a displayed URL has no password");
  return 0;
}
