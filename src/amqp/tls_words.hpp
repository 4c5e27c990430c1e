// tls_words: what went wrong with TLS, and what to do about it.
#pragma once

#include <openssl/ssl.h>

#include <boost/system/error_code.hpp>
#include <string>
#include <vector>

namespace outboxd::amqp {

// The certificate must be for this host, if `checks`; the host is also sent to a broker with several names
// (RFC 6066, section 3: never an address).
void name_peer(SSL* connection, const std::string& host, bool checks);

// Why the broker's certificate was not accepted.
struct certificate_refusal {
  int code = 0;                    // X509_V_ERR_*; 0: it was not refused
  std::vector<std::string> names;  // that it is for
};

certificate_refusal refusal_of(X509_STORE_CTX* at);

// The end of the stream, with or without the closing alert of TLS.
bool is_end_of_stream(const boost::system::error_code& ec);

// An alert of the broker, or bytes that are no TLS: trying again does not help.
bool is_about_tls(const boost::system::error_code& ec);

// One sentence without its end: the fault, and the remedy behind a semicolon.
std::string tls_words(const boost::system::error_code& ec, const certificate_refusal& refused,
                      const std::string& host);

}  // namespace outboxd::amqp
