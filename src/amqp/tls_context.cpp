#include "amqp/tls_context.hpp"

#include <fmt/format.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include <cerrno>
#include <ctime>
#include <fstream>
#include <iterator>
#include <system_error>

namespace outboxd::amqp {
namespace {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

constexpr std::string_view ca_setting = "amqp.tls.ca_file";
constexpr std::string_view certificate_setting = "amqp.tls.certificate_file";
constexpr std::string_view key_setting = "amqp.tls.key_file";

tl::unexpected<error> wrong(std::string_view setting, const std::string& file, std::string_view what) {
  return permanent(fmt::format("{} = '{}' {}", setting, file, what));
}

bool has(const std::string& text, std::string_view words) {
  return text.find(words) != std::string::npos;
}

result<std::string> read(std::string_view setting, const std::string& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) == 0 && S_ISDIR(status.st_mode))
    return wrong(setting, file, "is a directory; name a file in PEM form");
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  const int reason = errno;
  if (!in)
    return wrong(setting, file,
                 fmt::format("cannot be read: {}; {}", std::generic_category().message(reason),
                             reason == EACCES ? "give it, and the directories above it, to outboxd's user"
                                              : "name a file in PEM form"));
  if (!has(text, "-----BEGIN "))
    return wrong(setting, file,
                 "is not in PEM form (no -----BEGIN); convert it: openssl x509 -inform der, or openssl pkey");
  return text;
}

result<std::string> read_certificates(std::string_view setting, const std::string& file) {
  auto text = read(setting, file);
  if (text && !has(*text, "BEGIN CERTIFICATE") && !has(*text, "BEGIN TRUSTED CERTIFICATE") &&
      !has(*text, "BEGIN X509 CERTIFICATE"))
    return wrong(setting, file,
                 has(*text, "PRIVATE KEY")
                     ? "holds a private key and no certificate; are certificate_file and key_file swapped?"
                     : "holds no certificate");
  return text;
}

result<void> trust(ssl::context& context, const tls_settings& from) {
  error_code failed;
  if (from.ca_file.empty()) {
    context.set_default_verify_paths(failed);
    if (failed) return permanent("the CAs that this system trusts cannot be read: " + failed.message());
    return {};
  }
  OUTBOXD_TRY(const auto text, read_certificates(ca_setting, from.ca_file));
  context.add_certificate_authority(boost::asio::buffer(text), failed);
  if (failed) return wrong(ca_setting, from.ca_file, "holds a damaged certificate: " + failed.message());
  return {};
}

std::optional<std::chrono::system_clock::time_point> expiry_of(SSL_CTX* context) {
  const X509* const ours = SSL_CTX_get0_certificate(context);
  std::tm end{};
  if (ours == nullptr || ASN1_TIME_to_tm(X509_get0_notAfter(ours), &end) != 1) return std::nullopt;
  return std::chrono::system_clock::from_time_t(::timegm(&end));
}

result<void> show(ssl::context& context, const tls_settings& from) {
  OUTBOXD_TRY(const auto chain, read_certificates(certificate_setting, from.certificate_file));
  error_code failed;
  context.use_certificate_chain(boost::asio::buffer(chain), failed);
  if (failed)
    return wrong(certificate_setting, from.certificate_file,
                 "holds a damaged certificate: " + failed.message());
  OUTBOXD_TRY(const auto key, read(key_setting, from.key_file));
  if (!has(key, "PRIVATE KEY"))
    return wrong(key_setting, from.key_file,
                 "holds no private key; are certificate_file and key_file swapped?");
  bool encrypted = false;
  context.set_password_callback(
      [&encrypted](std::size_t, ssl::context::password_purpose) {
        encrypted = true;
        return std::string();
      },
      failed);
  context.use_private_key(boost::asio::buffer(key), ssl::context::pem, failed);
  error_code ignored;
  context.set_password_callback([](std::size_t, ssl::context::password_purpose) { return std::string(); },
                                ignored);
  if (encrypted)
    return wrong(key_setting, from.key_file,
                 "is encrypted, and outboxd cannot ask for its passphrase; remove the passphrase: openssl "
                 "pkey -in ENCRYPTED -out PLAIN");
  if (failed && SSL_CTX_check_private_key(context.native_handle()) != 1 && has(failed.message(), "mismatch"))
    return wrong(key_setting, from.key_file,
                 fmt::format("is not the key of {} = '{}'", certificate_setting, from.certificate_file));
  if (failed) return wrong(key_setting, from.key_file, "holds a damaged key: " + failed.message());
  return {};
}

}  // namespace

result<tls_context> make_tls_context(const tls_settings& from) {
  tls_context out{.it = ssl::context(ssl::context::tls_client), .certificate_expires = {}};
  SSL_CTX_set_min_proto_version(out.it.native_handle(), TLS1_2_VERSION);
  out.it.set_verify_mode(from.verify == verification::none ? ssl::verify_none : ssl::verify_peer);
  auto ok = from.verify == verification::none ? result<void>() : trust(out.it, from);
  if (ok && !from.certificate_file.empty()) ok = show(out.it, from);
  if (!ok) return tl::make_unexpected(ok.error());
  out.certificate_expires = expiry_of(out.it.native_handle());
  return out;
}

}  // namespace outboxd::amqp
