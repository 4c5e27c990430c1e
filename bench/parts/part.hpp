// part: one benchmark, with its options and its measurement.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <vector>

#include "report/report.hpp"
#include "stage/setup.hpp"

namespace outboxd::bench {

class part {
 public:
  virtual ~part() = default;
  virtual const char* name() const = 0;
  virtual const char* help() const = 0;
  // Sets the sizes of a smoke run, before the options are read.
  virtual void be_quick() = 0;
  virtual void add_options(CLI::App& at) = 0;
  virtual void run(const setup& on, report& out) = 0;
};

std::unique_ptr<part> limit_part();
std::unique_ptr<part> drain_part();
std::unique_ptr<part> latency_part();
std::unique_ptr<part> batch_part();
std::unique_ptr<part> writers_part();
std::unique_ptr<part> held_part();
std::unique_ptr<part> backlog_part();
std::unique_ptr<part> relays_part();
std::unique_ptr<part> takeover_part();
std::unique_ptr<part> open_writer_part();
std::unique_ptr<part> idle_part();
std::unique_ptr<part> insert_part();
std::unique_ptr<part> waiting_part();
std::unique_ptr<part> observed_part();
std::unique_ptr<part> console_part();
std::unique_ptr<part> otlp_part();
std::unique_ptr<part> retention_part();
std::unique_ptr<part> partitions_part();
std::unique_ptr<part> adopt_part();
std::unique_ptr<part> tls_part();
std::unique_ptr<part> poison_part();
std::unique_ptr<part> hot_part();
std::unique_ptr<part> replay_part();
std::unique_ptr<part> many_part();

// The parts in the order in which they run if none is named.
std::vector<std::unique_ptr<part>> all_parts();

}  // namespace outboxd::bench
