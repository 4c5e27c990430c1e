// tls_words: describes TLS errors and their remedies.
#pragma once

#include <openssl/ssl.h>

#include <boost/system/error_code.hpp>
#include <string>
#include <vector>

namespace outboxd::amqp {

// Verifies the certificate against `host` if `checks` is set; also sends the host as SNI, unless it is an
// address (RFC 6066, section 3).
void name_peer(SSL* connection, const std::string& host, bool checks);

// Why the broker's certificate was rejected.
struct certificate_refusal {
  int code = 0;                    // X509_V_ERR_*; 0: not rejected
  std::vector<std::string> names;  // names in the certificate
};

certificate_refusal refusal_of(X509_STORE_CTX* at);

// True at the end of the stream, with or without TLS's closing alert.
bool is_end_of_stream(const boost::system::error_code& ec);

// True for an alert from the broker, or bytes that are not TLS: a retry does not help.
bool is_about_tls(const boost::system::error_code& ec);

// One sentence without a full stop: the fault, and the remedy after a semicolon.
std::string tls_words(const boost::system::error_code& ec, const certificate_refusal& refused,
                      const std::string& host);

}  // namespace outboxd::amqp
