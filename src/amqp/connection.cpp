// connection: see connection.hpp. The implementation is link, which exists as long as any operation on the
// reactor refers to it.
#include "amqp/connection.hpp"

#include "amqp/link.hpp"

namespace outboxd::amqp {

connection::connection(boost::asio::any_io_executor executor, connection_settings settings)
    : link_(std::make_shared<link>(std::move(executor), std::move(settings))) {}

connection::~connection() {
  link_->abort();
}

boost::asio::awaitable<result<void>> connection::open() {
  return link::open(link_);
}
boost::asio::awaitable<error> connection::run(handler& owner) {
  return link::run(link_, &owner);
}
boost::asio::awaitable<void> connection::close(std::chrono::milliseconds limit) {
  return link::close(link_, limit);
}

result<accepted> connection::publish(token id, const message& message) {
  return link_->publish(id, message);
}
result<void> connection::update_secret(std::string_view secret) {
  return link_->update_secret(secret);
}
std::size_t connection::unconfirmed() const {
  return link_->unconfirmed();
}
std::vector<token> connection::abandon() {
  return link_->abandon();
}
const std::vector<std::string>& connection::created() const {
  return link_->created();
}
std::optional<std::chrono::system_clock::time_point> connection::certificate_expires() const {
  return link_->certificate_expires();
}
const interruption& connection::interrupted() const {
  return link_->interrupted();
}
void connection::abort() {
  link_->abort();
}

}  // namespace outboxd::amqp
