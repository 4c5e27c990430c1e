// pipeline: statements that are sent to the server together and answered together.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace outboxd::pg {

struct step {
  enum class kind { prepare, prepared, unnamed, text, end };
  kind what = kind::text;
  std::string name;                     // prepare, prepared
  std::string sql;                      // prepare, unnamed, text
  std::vector<std::string> parameters;  // prepared, unnamed: in binary format
  const char* failpoint = nullptr;      // prepared: reached when this step has been sent, but no later one
};

// Each step has one result. The first error ends its segment; the next segment is still executed. Outside
// BEGIN and COMMIT, the steps of a segment are one transaction.
class pipeline {
 public:
  pipeline& prepare(std::string name, std::string sql) {
    steps_.push_back({step::kind::prepare, std::move(name), std::move(sql), {}, nullptr});
    return *this;
  }
  // Results are in binary format.
  pipeline& run(std::string name, std::vector<std::string> parameters = {}) {
    steps_.push_back({step::kind::prepared, std::move(name), {}, std::move(parameters), nullptr});
    return *this;
  }
  pipeline& then_failpoint(const char* name) {
    steps_.back().failpoint = name;
    return *this;
  }
  // The same for a statement that is not prepared, and therefore parsed and planned each time.
  pipeline& run_unnamed(std::string sql, std::vector<std::string> parameters = {}) {
    steps_.push_back({step::kind::unnamed, {}, std::move(sql), std::move(parameters), nullptr});
    return *this;
  }
  // Results are in text format.
  pipeline& text(std::string sql) {
    steps_.push_back({step::kind::text, {}, std::move(sql), {}, nullptr});
    return *this;
  }

  // Ends a segment; not needed after the last one.
  pipeline& end_segment() {
    steps_.push_back({step::kind::end, {}, {}, {}, nullptr});
    return *this;
  }

  const std::vector<step>& steps() const { return steps_; }

 private:
  std::vector<step> steps_;
};

}  // namespace outboxd::pg
