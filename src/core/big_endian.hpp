// big_endian: integers in network byte order, which both protocols use.
#pragma once

#include <boost/endian/conversion.hpp>
#include <concepts>
#include <string>

namespace outboxd {

template <std::integral Integer>
void store_big_endian(char* at, Integer value) {
  boost::endian::endian_store<Integer, sizeof(Integer), boost::endian::order::big>(
      reinterpret_cast<unsigned char*>(at), value);
}

template <std::integral Integer>
Integer load_big_endian(const char* at) {
  return boost::endian::endian_load<Integer, sizeof(Integer), boost::endian::order::big>(
      reinterpret_cast<const unsigned char*>(at));
}

template <std::integral Integer>
void append_big_endian(std::string& out, Integer value) {
  char bytes[sizeof(Integer)];
  store_big_endian(bytes, value);
  out.append(bytes, sizeof bytes);
}

}  // namespace outboxd
