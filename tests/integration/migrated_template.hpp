// migrated_template: a database with a migrated outbox that tests copy, which is cheaper than a
// migration each.
#pragma once

#include <string>

namespace outboxd::test {

/// The name of a database of the tests' server that this very outboxd has migrated with this payload, and
/// nothing else has happened to. The first one who asks makes it; it stays until outboxd is built anew.
std::string migrated_template(const std::string& payload);

}  // namespace outboxd::test
