#include "amqp/tls_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/err.h>
#include <openssl/sslerr.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <boost/asio/error.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/error.hpp>
#include <string_view>

#include "core/text.hpp"

namespace outboxd::amqp {
namespace {

std::string words_of(const certificate_refusal& refused, const std::string& host) {
  const std::string said = X509_verify_cert_error_string(refused.code);
  const auto with = [&said](std::string_view remedy) {
    return fmt::format("the broker's certificate is not accepted ({}); {}", said, remedy);
  };
  switch (refused.code) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return fmt::format(
          "the broker's certificate is for {} and not for {}; name the host in its URL as the "
          "certificate does, or set amqp.tls.verify = \"ca\"",
          refused.names.empty() ? std::string("no host") : fmt::format("{}", fmt::join(refused.names, ", ")),
          host);
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return with("renew it on the broker");
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return with("are the clocks of both machines right?");
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      return with("name the certificate of the CA that has signed it with amqp.tls.ca_file");
    default:
      return with("`openssl s_client -connect HOST:PORT -showcerts` shows it");
  }
}

std::vector<std::string> names_in(X509* certificate) {
  std::vector<std::string> out;
  auto* const all =
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(all); ++i) {
    const GENERAL_NAME* const one = sk_GENERAL_NAME_value(all, i);
    if (one->type == GEN_DNS)
      out.push_back(printable({reinterpret_cast<const char*>(ASN1_STRING_get0_data(one->d.dNSName)),
                               static_cast<std::size_t>(ASN1_STRING_length(one->d.dNSName))}));
    else if (one->type == GEN_IPADD)
      out.emplace_back("an address");
  }
  GENERAL_NAMES_free(all);
  return out;
}

// The remedy for the reason of an alert or of an OpenSSL error.
std::string_view remedy_for(int reason) {
  switch (reason) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_HTTP_REQUEST:
      return "the port does not speak TLS; use amqp:// for it, or the broker's TLS port, usually 5671";
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_NO_PROTOCOLS_AVAILABLE:
      return "the broker speaks no TLS of version 1.2 or newer; set ssl_options.versions there";
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      return "the broker requires a client certificate; set amqp.tls.certificate_file and amqp.tls.key_file";
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
      return "the broker does not know the CA that signed amqp.tls.certificate_file; add it to its "
             "ssl_options.cacertfile";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
      return "amqp.tls.certificate_file has been revoked; get a new one";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
      return "amqp.tls.certificate_file has expired; get a new one";
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
      return "the broker does not accept amqp.tls.certificate_file; its log says why";
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
      return "the broker's log says why: it may require a client certificate (amqp.tls.certificate_file), or "
             "have no cipher in common with outboxd";
    default:
      return "the broker's log may say why";
  }
}

}  // namespace

void name_peer(SSL* connection, const std::string& host, bool checks) {
  boost::system::error_code not_an_address;
  const auto address = boost::asio::ip::make_address(host, not_an_address);
  if (not_an_address) {
    // expands the macro SSL_set_tlsext_host_name
    SSL_ctrl(connection, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
             const_cast<char*>(host.c_str()));
    if (checks) SSL_set_hostflags(connection, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (checks) SSL_set1_host(connection, host.c_str());
  } else if (checks) {
    // Removes the scope of a link-local address, because certificates do not contain scopes.
    const auto plain = address.to_string();
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(connection), plain.substr(0, plain.find('%')).c_str());
  }
}

certificate_refusal refusal_of(X509_STORE_CTX* at) {
  certificate_refusal out{.code = X509_STORE_CTX_get_error(at), .names = {}};
  if (X509* const which = X509_STORE_CTX_get_current_cert(at)) out.names = names_in(which);
  return out;
}

bool is_end_of_stream(const boost::system::error_code& ec) {
  return ec == boost::asio::error::eof || ec == boost::asio::ssl::error::stream_truncated;
}

bool is_about_tls(const boost::system::error_code& ec) {
  return ec.category() == boost::asio::error::get_ssl_category();
}

std::string tls_words(const boost::system::error_code& ec, const certificate_refusal& refused,
                      const std::string& host) {
  if (refused.code != X509_V_OK) return words_of(refused, host);
  if (is_end_of_stream(ec))
    return "the broker hung up in the TLS handshake; is it the broker's TLS port, usually 5671?";
  if (!is_about_tls(ec)) return fmt::format("TLS handshake: {}", ec.message());
  const int reason = ERR_GET_REASON(static_cast<unsigned long>(ec.value()));
  return fmt::format("TLS: {}; {}", ec.message(), remedy_for(reason));
}

}  // namespace outboxd::amqp
