// shared_cluster: one cluster for all tests of this program, for it takes its time to start.
#pragma once

#include "rabbit_cluster.hpp"

namespace outboxd::cluster {

rabbit_cluster& shared_cluster();

}  // namespace outboxd::cluster
