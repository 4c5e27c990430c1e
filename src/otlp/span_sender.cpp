#include "otlp/span_sender.hpp"

#include <fmt/format.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <utility>

namespace outboxd::otlp {
namespace asio = boost::asio;
using boost::system::error_code;
using std::chrono::milliseconds;

namespace {

constexpr std::string_view path = "/v1/traces";
constexpr std::size_t longest_answer = 64 * 1024;

// TLS 1.2 or newer, the system's CAs, and a certificate for this host.
std::shared_ptr<http::tls_client> make_tls(const http::url& to) {
  if (!to.tls) return nullptr;
  asio::ssl::context context(asio::ssl::context::tls_client);
  SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
  error_code ignored;  // without CAs, no certificate is good
  context.set_default_verify_paths(ignored);
  context.set_verify_mode(asio::ssl::verify_peer);
  return std::make_shared<http::tls_client>(
      http::tls_client{.context = std::move(context),
                       .name_peer =
                           [host = to.host](SSL* of) {
                             error_code no_address;
                             asio::ip::make_address(host, no_address);
                             // What the macro SSL_set_tlsext_host_name is.
                             if (no_address)
                               SSL_ctrl(of, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                                        const_cast<char*>(host.c_str()));
                           },
                       .verify = asio::ssl::host_name_verification(to.host),
                       .words = [](const error_code&) { return std::nullopt; }});
}

}  // namespace

span_sender::span_sender(asio::io_context& io, http::url collector, sender_observer tell, queue_limits queue,
                         sender_limits limits)
    : io_(io),
      collector_(std::move(collector)),
      tell_(std::move(tell)),
      limits_(limits),
      queue_(queue),
      tls_(make_tls(collector_)),
      timer_(io),
      last_timer_(io),
      pause_(limits.first_pause) {}

span_sender::~span_sender() {
  if (question_) question_->stop();
}

void span_sender::add(const span_context& at, const published_event& of) {
  if (!queue_.add(at, of)) {
    ++counts_.no_room;
    return;
  }
  if (now_ == state::idle) wait(state::gathering, limits_.gather, &span_sender::send);
  if (now_ == state::gathering && queue_.has_full_request()) send();
}

void span_sender::wait(state in, milliseconds time, void (span_sender::*then)()) {
  now_ = in;
  timer_.expires_after(time);
  timer_.async_wait([this, in, then](const error_code& cancelled) {
    if (!cancelled && now_ == in) (this->*then)();
  });
}

void span_sender::send() {
  if (!request_) {
    request_ = queue_.take();
    body_ = std::make_shared<const std::string>(std::move(request_->body));
  }
  wait(state::sending, limits_.answer, &span_sender::on_silence);
  if (looks_up()) return failed("the look-up of its host has not ended", std::nullopt);
  question_ = std::make_shared<http::question>(io_.get_executor(), lookups_.get_executor(),
                                               collector_.path + std::string(path), collector_.authority(),
                                               body_, longest_answer, tls_);
  latest_ = question_;
  question_->set(boost::beast::http::field::content_type, "application/json");
  question_->set(boost::beast::http::field::user_agent, "outboxd/" OUTBOXD_VERSION);
  question_->ask(collector_.host, collector_.port, [this](const error_code& ended) { heard(ended); });
}

bool span_sender::looks_up() const {
  const auto latest = latest_.lock();
  return latest && latest->looks_up();
}

void span_sender::on_silence() {
  question_->stop();
  failed(fmt::format("no answer within {} ms", limits_.answer.count()), std::nullopt);
}

void span_sender::heard(const error_code& ended) {
  if (ended) return failed(question_->words_of(ended), std::nullopt);
  const auto said = judge(question_->take(), request_->spans);
  if (said.what == collector_verdict::later) return failed(said.words, said.wait);
  take(said);
}

void span_sender::take(const collector_answer& said) {
  const auto refused = said.what == collector_verdict::refused ? request_->spans : said.refused;
  counts_.refused += refused;
  counts_.sent += request_->spans - refused;
  request_.reset();
  tries_ = 0;
  pause_ = limits_.first_pause;
  if (refused > 0)
    trouble(said.words);
  else if (std::exchange(in_trouble_, false))
    tell_.on_recovery(fmt::format("{} takes spans again", collector_.display()));
  go_on();
}

void span_sender::failed(const std::string& why, std::optional<std::chrono::seconds> until_next) {
  question_.reset();
  if (++tries_ >= limits_.tries) {
    counts_.unsent += request_->spans;
    request_.reset();
    tries_ = 0;
  }
  trouble(why);
  if (then_) return finish();
  const auto pause = std::exchange(pause_, std::min(pause_ * 2, limits_.longest_pause));
  const auto longest = until_next ? std::min<milliseconds>(*until_next, limits_.longest_pause) : pause;
  std::uniform_int_distribution<milliseconds::rep> jittered(
      until_next ? longest.count() : longest.count() / 2, longest.count());
  wait(state::pausing, milliseconds(jittered(chance_)), &span_sender::go_on);
}

// After an answer or a pause.
void span_sender::go_on() {
  question_.reset();
  if (request_ || queue_.has_full_request() || (then_ && queue_.spans() > 0)) return send();
  if (then_) return finish();
  timer_.cancel();
  now_ = state::idle;
  if (queue_.spans() > 0) wait(state::gathering, limits_.gather, &span_sender::send);
}

void span_sender::trouble(const std::string& why) {
  if (!std::exchange(in_trouble_, true))
    tell_.on_trouble(fmt::format("spans do not reach {}: {}", collector_.display(), why));
}

void span_sender::stop(std::function<void(bool)> then) {
  then_ = std::move(then);
  if (now_ == state::pausing || tries_ > 0) return abandon();
  last_timer_.expires_after(limits_.last);
  last_timer_.async_wait([this](const error_code& cancelled) {
    if (!cancelled && now_ != state::stopped) abandon();
  });
  if (now_ != state::sending) go_on();
}

void span_sender::abandon() {
  if (question_) std::exchange(question_, nullptr)->stop();
  finish();
}

void span_sender::finish() {
  now_ = state::stopped;
  timer_.cancel();
  last_timer_.cancel();
  const auto lost = queue_.spans() + (request_ ? request_->spans : 0);
  counts_.unsent += lost;
  if (lost > 0) tell_.on_trouble(fmt::format("{} spans were not sent to {}", lost, collector_.display()));
  std::exchange(then_, nullptr)(!looks_up());
}

}  // namespace outboxd::otlp
