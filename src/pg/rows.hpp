// rows: the answer of one statement.
#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>

namespace outboxd::pg {

// Owns a PGresult. Views into it are valid as long as it exists.
class rows {
 public:
  explicit rows(PGresult* owned) : result_(owned, &PQclear) {}

  int size() const { return PQntuples(result_.get()); }
  int columns() const { return PQnfields(result_.get()); }
  // The number of rows affected by an INSERT, UPDATE or DELETE.
  std::int64_t affected() const { return std::strtoll(PQcmdTuples(result_.get()), nullptr, 10); }
  Oid type(int column) const { return PQftype(result_.get(), column); }
  bool is_null(int row, int column) const { return PQgetisnull(result_.get(), row, column) != 0; }
  std::string_view at(int row, int column) const {
    return {PQgetvalue(result_.get(), row, column),
            static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
  }
  // An integer in text format; 0 if it is null.
  std::int64_t number_at(int row, int column) const {
    return std::strtoll(PQgetvalue(result_.get(), row, column), nullptr, 10);
  }
  std::optional<std::string_view> find(int row, int column) const {
    if (is_null(row, column)) return std::nullopt;
    return at(row, column);
  }

  // Keeps the rows alive for views that outlive this object.
  std::shared_ptr<const void> storage() const { return result_; }

 private:
  std::shared_ptr<PGresult> result_;
};

}  // namespace outboxd::pg
