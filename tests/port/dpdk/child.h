// Tests that need a process of their own: DPDK starts once per process, for good.
#pragma once

#include <functional>
#include <string>

namespace sumwire::nic {

// A forked process that runs `body` and reports the text it returns ("" for success).
class Child {
  public:
    explicit Child(const std::function<std::string()>& body);
    // Kills the process if it runs still.
    ~Child();
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    // Waits for the end. What `body` returned, threw, or how else it ended.
    std::string report();
    void kill();

  private:
    int process_;
    int pipe_;
};

}  // namespace sumwire::nic
