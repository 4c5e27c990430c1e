// greeting: see greeting.hpp.
#include "amqp/greeting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "core/text.hpp"

namespace outboxd::amqp {
namespace {

amqp_table_entry_t entry(std::string_view name, std::string_view value) {
  amqp_table_entry_t e{};
  e.key = as_bytes(name);
  e.value.kind = AMQP_FIELD_KIND_UTF8;
  e.value.value.bytes = as_bytes(value);
  return e;
}

// Not an overload of entry(), because a string literal would convert to bool rather than to string_view.
amqp_table_entry_t capability(std::string_view name) {
  amqp_table_entry_t e{};
  e.key = as_bytes(name);
  e.value.kind = AMQP_FIELD_KIND_BOOLEAN;
  e.value.value.boolean = 1;
  return e;
}

amqp_table_entry_t table_entry(std::string_view name, std::span<amqp_table_entry_t> table) {
  amqp_table_entry_t e{};
  e.key = as_bytes(name);
  e.value.kind = AMQP_FIELD_KIND_TABLE;
  e.value.value.table = {static_cast<int>(table.size()), table.data()};
  return e;
}

const amqp_field_value_t* find(const amqp_table_t& table, std::string_view name) {
  for (const auto& e : std::span(table.entries, static_cast<std::size_t>(table.num_entries)))
    if (as_view(e.key) == name) return &e.value;
  return nullptr;
}

bool capable(const amqp_table_t& server_properties, std::string_view name) {
  const auto* const capabilities = find(server_properties, "capabilities");
  if (capabilities == nullptr || capabilities->kind != AMQP_FIELD_KIND_TABLE) return false;
  const auto* const value = find(capabilities->value.table, name);
  return value != nullptr && value->kind == AMQP_FIELD_KIND_BOOLEAN && value->value.boolean != 0;
}

bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const auto end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

}  // namespace

result<void> check_greeting(std::string_view bytes) {
  if (bytes.empty() || bytes[0] == 1) return {};
  if (bytes.starts_with("AMQP")) {
    if (bytes.size() < protocol_header.size()) return {};
    return permanent(fmt::format(
        "the broker speaks AMQP {}.{}.{} (protocol id {}) and not 0-9-1; use RabbitMQ's AMQP 0-9-1 port",
        int{bytes[5]}, int{bytes[6]}, int{bytes[7]}, int{bytes[4]}));
  }
  if (std::string_view("AMQP").starts_with(bytes)) return {};
  if (bytes[0] == 0x15 || bytes[0] == 0x16)
    return permanent(
        "the port answers with TLS; use amqps:// for it, or the broker's plain AMQP port, usually 5672");
  if (bytes.starts_with("HTTP/"))
    return permanent("the port answers with HTTP, not AMQP; use the broker's AMQP port, usually 5672");
  if (std::string_view("HTTP/").starts_with(bytes)) return {};
  return permanent("the port does not answer with AMQP 0-9-1; use the broker's AMQP port, usually 5672");
}

result<void> check_offer(const amqp_connection_start_t& start, login_by how) {
  if (start.version_major != 0 || start.version_minor != 9)
    return permanent(
        fmt::format("the broker speaks AMQP {}-{}, not 0-9-1", start.version_major, start.version_minor));
  if (how == login_by::external && !has_word(as_view(start.mechanisms), "EXTERNAL"))
    return permanent(
        "the broker does not offer login by certificate; enable its plugin rabbitmq_auth_mechanism_ssl and "
        "add "
        "EXTERNAL to auth_mechanisms, or set amqp.auth = \"plain\"");
  if (how == login_by::plain && !has_word(as_view(start.mechanisms), "PLAIN"))
    return permanent(
        "the broker does not offer login with user and password; allow PLAIN in auth_mechanisms");
  for (const std::string_view needed : {"publisher_confirms", "basic.nack"})
    if (!capable(start.server_properties, needed))
      return permanent(fmt::format(
          "the broker lacks {}, without which outboxd cannot know that a message has arrived; use RabbitMQ",
          needed));
  return {};
}

identity identity_of(const amqp_connection_start_t& start) {
  const auto text = [&](std::string_view name) {
    const auto* const value = find(start.server_properties, name);
    const bool is_text =
        value != nullptr && (value->kind == AMQP_FIELD_KIND_UTF8 || value->kind == AMQP_FIELD_KIND_BYTES);
    return is_text ? printable(as_view(value->value.bytes), 60) : std::string();
  };
  return {.product = text("product"), .version = text("version")};
}

result<void> append_start_ok(std::string& out, const url& target, login_by how,
                             std::string_view connection_name) {
  std::array capabilities{capability("publisher_confirms"), capability("basic.nack"),
                          capability("connection.blocked"), capability("consumer_cancel_notify"),
                          capability("authentication_failure_close")};
  std::array properties{entry("product", "outboxd"), entry("version", OUTBOXD_VERSION),
                        entry("platform", "C++"), entry("connection_name", connection_name),
                        table_entry("capabilities", capabilities)};
  // PLAIN (RFC 4616): an empty authorization identity, user, password. EXTERNAL (RFC 4422): an empty
  // authorization identity.
  std::string response;
  if (how == login_by::plain)
    response.append(1, '\0').append(target.user).append(1, '\0').append(target.password);
  amqp_connection_start_ok_t ok{};
  ok.client_properties = {static_cast<int>(properties.size()), properties.data()};
  ok.mechanism = as_bytes(how == login_by::plain ? "PLAIN" : "EXTERNAL");
  ok.response = as_bytes(response);
  ok.locale = as_bytes("en_US");
  return codec::append_method(out, 0, AMQP_CONNECTION_START_OK_METHOD, &ok);
}

}  // namespace outboxd::amqp
