// A sumwire-aggregator process under test.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "nic/endpoint.h"

namespace sumwire::apps::test {

class AggregatorProcess {
  public:
    // Starts it; its files go to a folder of its own, but for a --json among the arguments. With
    // SIGINT ignored, as shells start background programs.
    explicit AggregatorProcess(std::vector<std::string> arguments, bool sigint_ignored = false);
    // Kills it if it still runs.
    ~AggregatorProcess();
    AggregatorProcess(const AggregatorProcess&) = delete;
    AggregatorProcess& operator=(const AggregatorProcess&) = delete;

    // Waits for the ready file. Fails the test and returns a default if it does not appear.
    nic::Endpoint wait_until_ready();
    void signal(int number) const;
    // Waits for its end; -1 if it did not exit by itself within the deadline.
    int exit_code();

    std::string standard_error() const { return read(folder_ / "stderr"); }
    std::string standard_output() const { return read(folder_ / "stdout"); }
    nlohmann::json statistics() const;

  private:
    std::string read(const std::filesystem::path& file) const;

    std::filesystem::path folder_;
    pid_t pid_ = -1;
};

}  // namespace sumwire::apps::test
