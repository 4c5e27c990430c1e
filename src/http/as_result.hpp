// as_result: makes an Asio operation return its error code with its result instead of throwing.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace outboxd::http {

inline constexpr auto as_result = boost::asio::as_tuple(boost::asio::use_awaitable);

}  // namespace outboxd::http
