#include "support/certificates.hpp"

#include <fmt/format.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <functional>
#include <stdexcept>

namespace outboxd::test {
namespace {

void must(bool done, const char* what) {
  if (!done) throw std::runtime_error{fmt::format("OpenSSL: {}", what)};
}

private_key make_key() {
  private_key key{EVP_EC_gen("P-256")};
  must(key != nullptr, "a key");
  return key;
}

void write_pem(const std::string& path, const std::function<int(std::FILE*)>& write) {
  std::FILE* const out = std::fopen(path.c_str(), "w");
  must(out != nullptr, path.c_str());
  const int done = write(out);
  must(std::fclose(out) == 0 && done == 1, path.c_str());
  must(::chmod(path.c_str(), 0640) == 0, path.c_str());
}

void extend(X509* which, X509* issuer, int what, const std::string& with) {
  X509V3_CTX context{};
  X509V3_set_ctx(&context, issuer, which, nullptr, nullptr, 0);
  X509_EXTENSION* const one = X509V3_EXT_conf_nid(nullptr, &context, what, with.c_str());
  must(one != nullptr && X509_add_ext(which, one, -1) == 1, with.c_str());
  X509_EXTENSION_free(one);
}

std::string joined(const std::vector<std::string>& all) {
  std::string out;
  for (const auto& one : all) out += (out.empty() ? "" : ",") + one;
  return out;
}

}  // namespace

certificate_authority::certificate_authority(const std::string& name) {
  std::string directory = (std::filesystem::temp_directory_path() / "outboxd-ca-XXXXXX").string();
  must(::mkdtemp(directory.data()) != nullptr, "a directory");
  directory_ = directory;
  // The broker runs as another user.
  must(::chmod(directory.c_str(), 0755) == 0, "a directory");
  key_ = make_key();
  own_ = make({.common_name = name, .hosts = {}}, key_.get(), nullptr, key_.get(), true);
  file_ = (directory_ / "ca.pem").string();
  write_pem(file_, [this](std::FILE* out) { return PEM_write_X509(out, own_.get()); });
  must(::chmod(file_.c_str(), 0644) == 0, "the CA's file");
}

certificate_authority::~certificate_authority() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

certificate certificate_authority::make(const certificate_wish& wish, EVP_PKEY* key, X509* issuer,
                                        EVP_PKEY* signs, bool is_ca) {
  certificate one{X509_new()};
  X509* const it = one.get();
  X509_set_version(it, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(it), ++count_);
  const auto seconds = [](std::chrono::hours from) {
    return static_cast<long>(std::chrono::seconds(from).count());
  };
  X509_gmtime_adj(X509_getm_notBefore(it), seconds(wish.from));
  X509_gmtime_adj(X509_getm_notAfter(it), seconds(wish.until));
  X509_set_pubkey(it, key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(it), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(wish.common_name.c_str()), -1, -1, 0);
  X509* const by = issuer != nullptr ? issuer : it;
  X509_set_issuer_name(it, X509_get_subject_name(by));
  extend(it, by, NID_basic_constraints, is_ca ? "critical,CA:TRUE" : "CA:FALSE");
  extend(it, by, NID_subject_key_identifier, "hash");
  if (is_ca) extend(it, by, NID_key_usage, "critical,keyCertSign,cRLSign,digitalSignature");
  if (!wish.hosts.empty()) extend(it, by, NID_subject_alt_name, joined(wish.hosts));
  must(X509_sign(it, signs, EVP_sha256()) > 0, "a signature");
  return one;
}

certificate_files certificate_authority::write(const certificate& one, const private_key& key) {
  const auto path = [this](const char* end) {
    return (directory_ / fmt::format("{}.{}", count_, end)).string();
  };
  certificate_files out{path("pem"), path("key")};
  write_pem(out.certificate, [&](std::FILE* file) { return PEM_write_X509(file, one.get()); });
  write_pem(out.key, [&](std::FILE* file) {
    return PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
  return out;
}

certificate_files certificate_authority::issue(const certificate_wish& wish) {
  const auto key = make_key();
  return write(make(wish, key.get(), own_.get(), key_.get(), false), key);
}

certificate_files certificate_authority::self_signed(const certificate_wish& wish) {
  const auto key = make_key();
  return write(make(wish, key.get(), nullptr, key.get(), false), key);
}

std::string certificate_authority::revoke(const certificate_files& which) {
  std::FILE* const in = std::fopen(which.certificate.c_str(), "r");
  must(in != nullptr, which.certificate.c_str());
  const certificate gone{PEM_read_X509(in, nullptr, nullptr, nullptr)};
  std::fclose(in);
  must(gone != nullptr, which.certificate.c_str());
  X509_CRL* const list = X509_CRL_new();
  X509_CRL_set_version(list, X509_CRL_VERSION_2);
  X509_CRL_set_issuer_name(list, X509_get_subject_name(own_.get()));
  ASN1_TIME* const when = X509_gmtime_adj(nullptr, -3600);
  X509_CRL_set1_lastUpdate(list, when);
  X509_REVOKED* const entry = X509_REVOKED_new();
  X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(gone.get()));
  X509_REVOKED_set_revocationDate(entry, when);
  X509_CRL_add0_revoked(list, entry);
  X509_gmtime_adj(when, 86'400);
  X509_CRL_set1_nextUpdate(list, when);
  ASN1_TIME_free(when);
  X509_CRL_sort(list);
  must(X509_CRL_sign(list, key_.get(), EVP_sha256()) > 0, "a list of revoked certificates");
  const auto directory = directory_ / "revoked";
  std::filesystem::create_directory(directory);
  const auto name = fmt::format(
      "{:08x}.r0", X509_NAME_hash_ex(X509_get_subject_name(own_.get()), nullptr, nullptr, nullptr));
  const auto path = (directory / name).string();
  write_pem(path, [list](std::FILE* out) { return PEM_write_X509_CRL(out, list); });
  must(::chmod(path.c_str(), 0644) == 0, path.c_str());
  X509_CRL_free(list);
  return directory.string();
}

std::string certificate_authority::encrypted(const certificate_files& of) {
  std::FILE* const in = std::fopen(of.key.c_str(), "r");
  must(in != nullptr, of.key.c_str());
  const private_key key{PEM_read_PrivateKey(in, nullptr, nullptr, nullptr)};
  std::fclose(in);
  const auto path = of.key + ".encrypted";
  write_pem(path, [&](std::FILE* out) {
    return PEM_write_PKCS8PrivateKey(out, key.get(), EVP_aes_256_cbc(), "passphrase", 10, nullptr, nullptr);
  });
  return path;
}

}  // namespace outboxd::test
