// certificates: a CA of a test's own, and what it signs, as PEM files in a directory of its own.
#pragma once

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace outboxd::test {

struct free_openssl {
  void operator()(EVP_PKEY* it) const { EVP_PKEY_free(it); }
  void operator()(X509* it) const { X509_free(it); }
};
using private_key = std::unique_ptr<EVP_PKEY, free_openssl>;
using certificate = std::unique_ptr<X509, free_openssl>;

struct certificate_wish {
  std::string common_name = "localhost";
  std::vector<std::string> hosts{"DNS:localhost", "IP:127.0.0.1"};  // as OpenSSL's subjectAltName has them
  std::chrono::hours from{-1};                                      // from now
  std::chrono::hours until{24};
};

struct certificate_files {
  std::string certificate;
  std::string key;
};

class certificate_authority {
 public:
  // The directory is made, and removed at the end.
  explicit certificate_authority(const std::string& name);
  ~certificate_authority();
  certificate_authority(const certificate_authority&) = delete;
  certificate_authority& operator=(const certificate_authority&) = delete;

  const std::string& file() const { return file_; }
  const std::filesystem::path& directory() const { return directory_; }
  certificate_files issue(const certificate_wish& wish = {});
  // Signed by itself.
  certificate_files self_signed(const certificate_wish& wish = {});
  // A directory with a list of this one certificate, as Erlang's ssl_crl_hash_dir wants it.
  std::string revoke(const certificate_files& which);
  // The same key behind a passphrase.
  std::string encrypted(const certificate_files& of);

 private:
  certificate make(const certificate_wish& wish, EVP_PKEY* key, X509* issuer, EVP_PKEY* signs, bool is_ca);
  certificate_files write(const certificate& one, const private_key& key);

  std::filesystem::path directory_;
  std::string file_;
  private_key key_;
  certificate own_;
  int count_ = 0;
};

}  // namespace outboxd::test
