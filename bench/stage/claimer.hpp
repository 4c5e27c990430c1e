// claimer: claims and marks as a lane does, with the relay's own statements and no broker.
#pragma once

#include <cstdint>
#include <string>

#include "stage/stage.hpp"

namespace outboxd::bench {

class claimer {
 public:
  explicit claimer(const stage& where, int batch = 500);

  // Claims, marks what was claimed as published, commits; one statement after the other. Returns how many events.
  std::int64_t claim_and_mark();
  // Milliseconds of a claim that is then given back; begin and rollback are not counted.
  double claim_milliseconds();

 private:
  void look();
  test::result_rows claim();

  test::database session_;
  std::string take_;
  std::string claim_;
  std::string mark_;
  std::string floors_ = "NULL, NULL, NULL";  // and settled, and lowest
};

}  // namespace outboxd::bench
